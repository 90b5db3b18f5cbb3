"""Approvals that hold: a token per person, forged, swapped and shared."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

import msgspec
import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import HoldfastError, InvalidInput, InvalidToken, SignalNotAllowed
from holdfast.model.states import State
from holdfast.model.tokens import Grant, received
from holdfast.model.waitpoints import Effect, NewSignal, NewWaitpoint, Source, Waitpoint
from tests.integration.engine.test_waitpoints import signal_to, waiting
from tests.support.lifecycle import Dump, state_of

pytestmark = pytest.mark.usefixtures("clock")

PEOPLE = ("ann", "ben", "cid")
TWO = {
    "count": 2,
    "distinct": "sources",
    "of": [{"waitpoint": "release", "signal": "approve"}],
}
RELEASE = NewWaitpoint(name="release", answerers=PEOPLE, personal=True)


async def asked(engine: Engine) -> Waitpoint:
    """Return the waitpoint of an execution that needs the approval of two of three people."""
    _, (point,) = await waiting(engine, RELEASE, condition=TWO)
    return point


async def approve(engine: Engine, point: Waitpoint, token: str, identity: str = "") -> Effect:
    """Approve with a token, perhaps in the name of somebody."""
    source = Source(type="user", identity=identity) if identity else Source()
    return await engine.waitpoints.signal(signal_to(point, "approve", source=source), token)


def altered(token: str, grant: Grant) -> str:
    """Return a token with another grant and the signature of the first."""
    version, kid, _, signature = token.split(".")
    text = urlsafe_b64encode(msgspec.json.encode(grant)).rstrip(b"=").decode()
    return f"{version}.{kid}.{text}.{signature}"


def grant_of(token: str) -> Grant:
    """Read the grant of a token."""
    text = token.split(".")[2]
    return msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Grant)


async def test_two_approvals_are_two_people(engine: Engine) -> None:
    """One person counts once, however often and under whatever key they approve."""
    point = await asked(engine)
    tokens = {person: token.reveal() for person, token in point.tokens.items()}
    assert (sorted(tokens), point.token, point.fingerprint) == (list(PEOPLE), None, None)
    assert await approve(engine, point, tokens["ann"]) is Effect.APPENDED
    for _ in range(3):
        assert await approve(engine, point, tokens["ann"]) is Effect.DUPLICATE
    assert await approve(engine, point, tokens["ann"], "ann") is Effect.DUPLICATE
    assert await state_of(engine.store, point.execution_id) is State.SUSPENDED
    assert await approve(engine, point, tokens["ben"]) is Effect.RESUMED
    sources = {one.source for one in await engine.waitpoints.signals(point.execution_id)}
    assert sources == {Source(type="person", identity=name) for name in ("ann", "ben")}


async def test_one_person_at_once_from_everywhere(engine: Engine) -> None:
    """A hundred simultaneous approvals by one person are one."""
    point = await asked(engine)
    token = point.tokens["cid"].reveal()
    effects = await asyncio.gather(*(approve(engine, point, token) for _ in range(100)))
    assert sorted(effects) == [Effect.APPENDED] + [Effect.DUPLICATE] * 99
    assert await state_of(engine.store, point.execution_id) is State.SUSPENDED


async def test_the_token_says_who_answers(engine: Engine, dump: Dump) -> None:
    """A shared link stays its owner's: nobody answers with it in the name of another."""
    point = await asked(engine)
    before = dump()
    for name in ("ben", "Ann", "dan"):
        with pytest.raises(SignalNotAllowed, match="ann, the person of this token"):
            await approve(engine, point, point.tokens["ann"].reveal(), name)
    assert dump() == before


async def test_a_forged_token(engine: Engine, dump: Dump) -> None:
    """Another person, nobody, somebody who was not asked: the signature fits none of them."""
    point = await asked(engine)
    token = point.tokens["ann"].reveal()
    grant = grant_of(token)
    assert grant.person == "ann"
    before = dump()
    for person in ("ben", "", "dan"):
        with pytest.raises(InvalidToken):
            await approve(
                engine, point, altered(token, msgspec.structs.replace(grant, person=person))
            )
    assert dump() == before


async def test_a_genuine_token_that_is_not_for_this_waitpoint(engine: Engine, dump: Dump) -> None:
    """Signed with the right key, but for nobody, for a stranger, or for another waitpoint."""
    point, other = await asked(engine), await asked(engine)
    _, (shared,) = await waiting(engine, NewWaitpoint(name="gate"))
    grant = grant_of(point.tokens["ann"].reveal())
    signed = [
        (point, msgspec.structs.replace(grant, person="")),
        (point, msgspec.structs.replace(grant, person="dan")),
        (shared, shared.grant("ann")),
    ]
    tokens = [(at, (await engine.waitpoints.token_of(one)).reveal()) for at, one in signed]
    tokens += [(other, point.tokens["ann"].reveal())]
    before = dump()
    for at, token in tokens:
        with pytest.raises(InvalidToken):
            await approve(engine, at, token)
        with pytest.raises(InvalidToken):
            await engine.waitpoints.read(at.id, token)
    assert dump() == before


async def test_nobody_approves_without_a_token(engine: Engine, dump: Dump) -> None:
    """Not even an operator; they can end the wait by `resume`, which the history shows."""
    point = await asked(engine)
    before = dump()
    signal = signal_to(point, "approve", source=Source(type="user", identity="ann"))
    with pytest.raises(SignalNotAllowed, match="a token of ann, ben, cid"):
        await engine.waitpoints.signal(signal)
    assert dump() == before


async def test_early_approvals_count_in_the_same_way(engine: Engine) -> None:
    """Signals that come before the wait keep the person of their token."""
    made = await engine.submit("work")
    async with engine.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 60_000)
    assert claim.id == made.id
    (point,) = await engine.waitpoints.prepare(claim.id, claim.lease, [RELEASE])
    for person in ("ann", "ann"):
        token = point.tokens[person].reveal()
        assert await approve(engine, point, token) is Effect.BUFFERED
    answer = await engine.waitpoints.suspend(claim.id, claim.lease, [point.id], TWO)
    assert answer.state is State.SUSPENDED
    assert (answer.waitpoints[0].wanted, answer.waitpoints[0].came) == (2, ("ann",))
    assert await approve(engine, point, point.tokens["cid"].reveal()) is Effect.RESUMED


async def test_a_token_is_read_for_a_person(engine: Engine, dump: Dump) -> None:
    """The history says who read whose; a stranger and nobody have none."""
    point = await asked(engine)
    token = await engine.waitpoints.token(point.id, reader="bot", person="ben")
    assert token.fingerprint == received(token.reveal()).fingerprint
    assert await approve(engine, point, token.reveal()) is Effect.APPENDED
    *_, event = await engine.history(point.execution_id)
    assert event.data == {"waitpoint": point.id, "reader": "bot", "person": "ben"}
    before = dump()
    for person in ("dan", ""):
        with pytest.raises(SignalNotAllowed):
            await engine.waitpoints.token(point.id, reader="bot", person=person)
    _, (shared,) = await waiting(engine, NewWaitpoint(name="gate"))
    with pytest.raises(SignalNotAllowed, match="the holder of its one token"):
        await engine.waitpoints.token(shared.id, reader="bot", person="ann")
    assert len(dump()) >= len(before)


async def test_the_tokens_survive_a_rotation(engine: Engine) -> None:
    """Tokens of the old and of the new key are the same person."""
    point = await asked(engine)
    old = point.tokens["ann"].reveal()
    await engine.keyring.rotate("kb", "5e" * 32)
    new = (await engine.waitpoints.token(point.id, reader="bot", person="ann")).reveal()
    assert old != new
    assert await approve(engine, point, old) is Effect.APPENDED
    assert await approve(engine, point, new) is Effect.DUPLICATE


@pytest.mark.parametrize(
    "fields",
    [
        {"answerers": ()},
        {"answerers": ("ann", "ann")},
        {"answerers": ("ann",), "uses": 1},
        {"answerers": ("ann",), "personal": "yes"},
    ],
)
def test_people_are_different_and_named(fields: dict[str, object]) -> None:
    """A waitpoint for nobody, twice for one, or with a limit that people share is refused."""
    with pytest.raises(InvalidInput):
        replace(RELEASE, **fields)  # type: ignore[arg-type]


async def test_a_batch_checks_each(engine: Engine) -> None:
    """Two approvals by one person in one batch are one."""
    point = await asked(engine)
    token = point.tokens["ann"].reveal()
    items: list[tuple[NewSignal, str | None]] = [
        (signal_to(point, "approve"), token),
        (signal_to(point, "approve", source=Source(type="user", identity="ben")), token),
        (signal_to(point, "approve"), None),
        (signal_to(point, "approve"), token),
    ]
    answers = await engine.waitpoints.signal_many(items)
    assert sum(answer is Effect.APPENDED for answer in answers) == 1
    assert [isinstance(answer, HoldfastError) for answer in answers] == [False, True, True, False]
    assert await state_of(engine.store, point.execution_id) is State.SUSPENDED
