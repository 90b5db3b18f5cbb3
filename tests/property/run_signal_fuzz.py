"""Fuzz of `engine.waitpoints.signal`, in a process of its own like `run_machine`."""

from __future__ import annotations

import json
import string
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.engine import Engine
from holdfast.errors import Conflict, Forbidden, HoldfastError, InvalidInput, NotFound, Unauthorized
from holdfast.model.executions import Claim, NewExecution
from holdfast.model.tokens import Grant, KeyRing, SigningKey
from holdfast.model.waitpoints import Effect, NewSignal, NewWaitpoint, Source, Waitpoint
from tests.property.running import thorough
from tests.property.world import World, open_world, without_meta
from tests.support.lifecycle import claim_ready

#: What a sender may be told.
FAMILY = (InvalidInput, Unauthorized, Forbidden, NotFound, Conflict)

SCHEMA = {
    "type": "object",
    "required": ["n"],
    "properties": {
        "n": {"type": "number", "multipleOf": 0.1},
        "tree": {"$ref": "#/$defs/tree"},
        "text": {"type": "string", "pattern": "^[a-z]*$"},
    },
    "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
}
#: The second waitpoint can never be fulfilled, so that every genuine signal is told its effect.
CONDITION = {
    "count": 9_999,
    "distinct": "signals",
    "of": [
        {"waitpoint": "open", "where": "payload.n > 1 && payload.text.startsWith('a')"},
        {"waitpoint": "closed"},
    ],
}
STRANGER = SigningKey("stranger", b"s" * 32)

texts = st.one_of(
    st.text(max_size=40), st.sampled_from(("", "go", "stop", "a*", "x" * 300, "\x00", "\ud800"))
)
anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts, st.binary(max_size=40)
)
raw_payloads = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        (
            *(b"", b"{", b'{"n":1e999}', b'{"n":NaN}', b'"\\ud800"', b'"\xff"', b'{"\xff":1}'),
            *(b"[" * 3_000 + b"]" * 3_000, b"9" * 5_000, b"\xef\xbb\xbf1", b"1 1"),
        )
    ),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda children: st.one_of(
        st.lists(children, max_size=3), st.dictionaries(st.text(max_size=3), children, max_size=3)
    ),
    max_leaves=6,
)
#: JSON that may fit the schema of the open waitpoint.
fitting = st.fixed_dictionaries(
    {"n": st.one_of(st.integers(-5, 5), st.sampled_from((0.3, 1.5, 10**400, -(10**400), 1e308)))},
    optional={
        "text": st.sampled_from(("a", "ab", "B", "a" * 5_000 + "!", 5)),
        "tree": st.recursive(st.just([]), lambda one: st.lists(one, max_size=3), max_leaves=8),
        "else": values,
    },
)
payloads = st.one_of(
    fitting.map(json.dumps),
    fitting.map(json.dumps),
    values.map(json.dumps),
    st.just('{"n":1,"tree":' + "[" * 300 + "]" * 300 + "}"),
    st.just('{"n":1,"n":"x"}'),
).map(str.encode)


@st.composite
def tokens(draw: st.DrawFn, genuine: str, kid: str) -> Any:
    """Draw something in the place of a token: anything, or a genuine one that was changed."""
    kind = draw(st.sampled_from(("any", "shape", "cut", "flip", "insert", "kid", "stranger")))
    place = draw(st.integers(0, len(genuine) - 1))
    letter = draw(st.sampled_from(string.ascii_letters + string.digits + "-_.=+/ \n\x00é"))
    version, _, grant, signature = genuine.split(".")
    changed = {
        "cut": genuine[:place],
        "flip": genuine[:place] + letter + genuine[place + 1 :],
        "insert": genuine[:place] + letter + genuine[place:],
        "kid": f"{version}.{draw(st.sampled_from(('x', kid + 'x', '_')))}.{grant}.{signature}",
    }
    if kind in changed:
        return changed[kind]
    if kind == "shape":
        part = st.text(alphabet=string.ascii_letters + string.digits + "-_", max_size=60)
        return ".".join([draw(st.sampled_from(("hf1", "hf2", ""))), kid, draw(part), draw(part)])
    if kind == "stranger":
        forged = Grant(draw(st.sampled_from(("e0~w1", "e0~w2", "nobody~w1"))), "open", 1)
        ring = KeyRing("stranger", None, {"stranger": STRANGER})
        text = ring.sign(forged).reveal()
        return text.replace(".stranger.", f".{kid}.") if draw(st.booleans()) else text
    return draw(st.one_of(texts, anything)) or ""


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a signal; at most one of them is nothing that a sender would mean."""
    fields = ("waitpoint", "name", "payload", "type", "identity", "key", "correlation")
    odd = draw(st.sampled_from((*(None,) * 7, *fields)))

    def field(name: str, *usual: Any) -> Any:
        if name == odd:
            return draw(texts if name in ("type", "identity") else st.one_of(texts, anything))
        return draw(st.sampled_from(usual))

    payload = draw(payloads) if odd != "payload" else draw(st.one_of(anything, raw_payloads))
    return {
        "waitpoint": field("waitpoint", *("e0~w1",) * 8, "e0~w2", "e0~w9", "nobody~w1"),
        "name": field("name", "go", "go", "go", "a.b", "stop"),
        "payload": payload,
        "source": {
            "type": field("type", "user", ""),
            "identity": field("identity", "ann", "bob", "bob", ""),
        },
        "idempotency_key": field("key", None, None, "k1"),
        "correlation": field("correlation", ""),
    }


class Target:
    """An execution that waits at an open waitpoint with a schema, and at one that is closed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.engine = Engine(world.store)
        world.run(world.reset())
        self.points: list[Waitpoint] = world.run(self._suspend())

    async def _suspend(self) -> list[Waitpoint]:
        store = self.world.store
        await store.executions.create([NewExecution(kind="work", id="e0")])
        claims: list[Claim] = await claim_ready(
            store,
            self.world.tag,
            request="r",
            worker="w",
            lanes=["default"],
            capabilities=[],
            limit=1,
            lease_ms=60_000,
        )
        answer = await self.engine.waitpoints.suspend(
            "e0",
            claims[0].lease,
            [
                NewWaitpoint(
                    name="open", schema=SCHEMA, signals=("go", "a*"), answerers=("ann", "bob")
                ),
                NewWaitpoint(name="closed"),
            ],
            CONDITION,
        )
        await self.engine.waitpoints.revoke("e0~w2")
        return list(answer.waitpoints)

    async def send(self, body: dict[str, Any], token: Any) -> Effect | HoldfastError:
        """Send what may be no signal at all; a refusal changes nothing."""
        before = without_meta(await self.world.read_all())
        try:
            item = NewSignal(**{**body, "source": Source(**body["source"])})
            return await self.engine.waitpoints.signal(item, token)
        except FAMILY as error:
            refusal: HoldfastError = error
        assert without_meta(await self.world.read_all()) == before
        return refusal


def main() -> None:
    """Try random tokens and bodies; raises with the shortest failing example."""
    with open_world() as world:
        target = Target(world)
        token = target.points[0].token
        assert token is not None
        genuine = token.reveal()
        common = thorough(400, large=20_000)

        @common
        @given(bodies(), tokens(genuine, token.kid))
        def forged(body: dict[str, Any], text: Any) -> None:
            if text == genuine:
                return
            answer = world.run(target.send(body, text))
            assert isinstance(answer, HoldfastError), answer

        @common
        @given(bodies(), st.booleans())
        def genuine_or_operator(body: dict[str, Any], with_token: bool) -> None:
            answer = world.run(target.send(body, genuine if with_token else None))
            if isinstance(answer, Effect):
                assert body["waitpoint"] == "e0~w1"

        forged()
        genuine_or_operator()


if __name__ == "__main__":
    main()
