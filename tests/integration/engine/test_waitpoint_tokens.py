"""Tokens and their keys from end to end; the traps 22 to 28 of the reference by name.

22 rapid rotation               test_trap_22_every_kid_is_good_until_its_own_end
23 boundary of the grace        test_trap_23_readers_and_collectors_agree_on_the_last_ms
24 numbers that are none        test_trap_24_a_grace_is_a_finite_integer
25 pending and closed           test_trap_25_a_closed_waitpoint_buffers_nothing
26 state before the token       test_trap_26_a_stranger_learns_nothing
27 no token at activation       test_trap_27_every_waitpoint_of_a_wait_has_a_token
28 tokens in lists              test_trap_28_tokens_are_read_by_an_audited_call_only
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import (
    HoldfastError,
    InvalidInput,
    InvalidToken,
    RotationBusy,
    RotationConflict,
    SignalNotAllowed,
    TokenExpired,
    TokenUsedUp,
    WaitpointClosed,
)
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewSignal, NewWaitpoint, Source, Waitpoint
from holdfast.testing.clock import Clock
from tests.integration.engine.test_waitpoints import running, signal_to, token_of, waiting
from tests.support.lifecycle import Dump

FOREVER = {"count": 99, "distinct": "signals", "of": [{"waitpoint": "gate"}]}
SECRET = "5e" * 32


async def answer(engine: Engine, point: Waitpoint, token: str | None, **fields: Any) -> Effect:
    """Send a signal with a token."""
    return await engine.waitpoints.signal(signal_to(point, **fields), token)


async def fresh_token(engine: Engine, point: Waitpoint) -> str:
    """Return the token, signed with the current key."""
    return (await engine.waitpoints.token(point.id, reader="test")).reveal()


async def code_of(engine: Engine, point: Waitpoint | str, token: str) -> str:
    """Return the code of the refusal of a signal."""
    waitpoint = point if isinstance(point, str) else point.id
    with pytest.raises(HoldfastError) as raised:
        await engine.waitpoints.signal(NewSignal(waitpoint=waitpoint, name="go"), token)
    return raised.value.code


# Keys


async def test_rotation_a_b_c_inside_the_grace(engine: Engine, clock: Clock) -> None:
    """Tokens of all three keys are good; each until its own end."""
    _, (point,) = await waiting(engine, condition=FOREVER)
    a = token_of(point)
    await engine.keyring.rotate("kb", SECRET, grace_ms=3_000)
    b = await fresh_token(engine, point)
    await engine.keyring.rotate("kc", SECRET, grace_ms=1_000)
    c = await fresh_token(engine, point)
    assert [token.split(".")[1] for token in (b, c)] == ["kb", "kc"]
    for token in (a, b, c):
        assert await answer(engine, point, token) is Effect.APPENDED
    await clock.advance(1_000)
    assert await code_of(engine, point, b) == "token_expired"
    assert await answer(engine, point, a) is Effect.APPENDED
    await clock.advance(2_000)
    assert await code_of(engine, point, a) == "token_expired"
    assert await answer(engine, point, c) is Effect.APPENDED


async def test_a_collected_kid_is_unknown(engine: Engine, clock: Clock) -> None:
    """The next rotation removes it."""
    _, (point,) = await waiting(engine, condition=FOREVER)
    await engine.keyring.rotate(grace_ms=1_000)
    await clock.advance(1_000)
    await engine.keyring.rotate(grace_ms=1_000)
    assert await code_of(engine, point, token_of(point)) == "invalid_token"


async def test_install_at_boot(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """Fresh, match, mismatch (kept and warned, without the secret), repaired."""
    keys = engine.keyring
    assert await keys.install("k1", SECRET) == "fresh"
    assert await keys.install("k1", SECRET) == "match"
    with caplog.at_level(logging.WARNING):
        assert await keys.install("k2", "aa" * 32) == "mismatch"
    assert ("k2" in caplog.text, "k1" in caplog.text) == (True, True)
    assert "aa" * 16 not in caplog.text
    ring = f"{engine.store.global_tag}:keyring"
    await engine.store.client.call(["HDEL", ring, "secret:k1"])
    assert await keys.install("k2", SECRET) == "repaired"
    assert (await keys.ring()).current == "k2"


async def test_a_torn_ring_is_repaired_when_it_is_needed(engine: Engine) -> None:
    """Waits can begin though nobody installed a key, or its secret is lost."""
    ring = f"{engine.store.global_tag}:keyring"
    for _ in range(2):
        _, (point,) = await waiting(engine, condition=FOREVER)
        assert await answer(engine, point, await fresh_token(engine, point)) is Effect.APPENDED
        current = (await engine.keyring.ring()).current
        await engine.store.client.call(["HDEL", ring, f"secret:{current}"])
        assert await code_of(engine, point, token_of(point)) == "invalid_token"


async def test_rotation_is_idempotent_and_detects_conflicts(engine: Engine, dump: Dump) -> None:
    """The same kid and secret: no-op; the same kid and another secret: conflict."""
    await engine.keyring.install("k1", SECRET)
    assert await engine.keyring.rotate("k2", SECRET) == ("k2", "k1")
    before = dump()
    assert await engine.keyring.rotate("k2", SECRET) == ("k2", "k1")
    for kid, secret in (("k2", "aa" * 32), ("k1", SECRET)):
        with pytest.raises(RotationConflict):
            await engine.keyring.rotate(kid, secret)
    assert dump() == before


async def test_one_rotation_at_a_time(engine: Engine) -> None:
    """The second caller is told to try again; the ring has one new key."""
    await engine.keyring.install("k1", SECRET)
    answers = await asyncio.gather(
        *(engine.keyring.rotate() for _ in range(5)), return_exceptions=True
    )
    rotated = [one for one in answers if not isinstance(one, BaseException)]
    assert len(rotated) == 1
    assert sum(isinstance(one, RotationBusy) for one in answers) == 4
    assert len((await engine.keyring.ring()).keys) == 2


async def test_rotations_by_two_engines_leave_one_current_key(engine: Engine) -> None:
    """And both new keys are known; tokens of either are good."""
    other = Engine(engine.store)
    _, (point,) = await waiting(engine, condition=FOREVER)
    await asyncio.gather(engine.keyring.rotate("ka"), other.keyring.rotate("kb"))
    ring = await engine.keyring.ring()
    assert ring.current in {"ka", "kb"}
    assert {"ka", "kb"} <= set(ring.keys)
    assert await answer(engine, point, token_of(point)) is Effect.APPENDED
    assert await answer(engine, point, await fresh_token(other, point)) is Effect.APPENDED


async def test_an_engine_that_signs_notices_a_rotation_of_another(engine: Engine) -> None:
    """A token that it hands out after the rotation is good, even if the old key has no grace."""
    other = Engine(engine.store)
    claim = await running(engine)
    item = NewWaitpoint(name="gate", key="k")
    await engine.waitpoints.prepare(claim.id, claim.lease, [item])
    await other.keyring.rotate(grace_ms=0)
    (point,) = await engine.waitpoints.prepare(claim.id, claim.lease, [item])
    assert await answer(engine, point, token_of(point)) is Effect.BUFFERED


# Scope


async def test_a_token_is_good_for_its_waitpoint_only(engine: Engine, dump: Dump) -> None:
    """Not for another of the same execution, nor one of another execution."""
    both = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    _, (a, b) = await waiting(
        engine, NewWaitpoint(name="a"), NewWaitpoint(name="b"), condition=both
    )
    _, (other,) = await waiting(engine)
    before = dump()
    for point, token in ((a, token_of(b)), (b, token_of(a)), (other, token_of(a))):
        with pytest.raises(InvalidToken):
            await answer(engine, point, token)
    assert dump() == before


async def test_scope_of_names_and_sources(engine: Engine, dump: Dump) -> None:
    """A token for `approve` denies nothing; who is not asked cannot answer."""
    item = NewWaitpoint(name="gate", signals=("approve",), answerers=("ann",))
    _, (point,) = await waiting(engine, item, condition=FOREVER)
    before = dump()
    for name, who in (("deny", "ann"), ("approve", "bob"), ("approve", "Ann")):
        with pytest.raises(SignalNotAllowed):
            await answer(
                engine, point, token_of(point), name=name, source=Source(type="user", identity=who)
            )
    assert dump() == before
    source = Source(type="user", identity="ann")
    effect = await answer(engine, point, token_of(point), name="approve", source=source)
    assert effect is Effect.APPENDED


async def test_uses_are_spent(engine: Engine) -> None:
    """A replayed token does nothing; under the same key it is told so."""
    _, (point,) = await waiting(engine, NewWaitpoint(name="gate", uses=2), condition=FOREVER)
    token = token_of(point)
    assert await answer(engine, point, token, idempotency_key="k") is Effect.APPENDED
    assert await answer(engine, point, token, idempotency_key="k") is Effect.DUPLICATE
    assert await answer(engine, point, token) is Effect.APPENDED
    with pytest.raises(TokenUsedUp):
        await answer(engine, point, token)
    with pytest.raises(TokenUsedUp):
        await answer(engine, point, await fresh_token(engine, point))


async def test_racing_uses_are_not_overspent(engine: Engine) -> None:
    """Of eight at once, three get through."""
    _, (point,) = await waiting(engine, NewWaitpoint(name="gate", uses=3), condition=FOREVER)
    answers = await asyncio.gather(
        *(answer(engine, point, token_of(point)) for _ in range(8)), return_exceptions=True
    )
    assert answers.count(Effect.APPENDED) == 3
    assert sum(isinstance(one, TokenUsedUp) for one in answers) == 5


async def test_a_token_replayed_after_its_execution_was_forgotten(
    engine: Engine, clock: Clock, dump: Dump
) -> None:
    """A new execution with the same id has other waitpoints, though their ids are the same."""
    own = new_id()
    claim, (old,) = await waiting(engine, fields={"id": own, "retention_ms": 0})
    await engine.cancel(claim.id, "")
    await clock.advance_and_tick(1)
    assert await code_of(engine, old, token_of(old)) == "invalid_token"
    _, (new,) = await waiting(engine, fields={"id": own})
    assert new.id == old.id
    before = dump()
    assert await code_of(engine, new, token_of(old)) == "invalid_token"
    assert dump() == before


async def test_a_token_of_an_expired_waitpoint(engine: Engine, clock: Clock) -> None:
    """It is told that it is too late, at the millisecond."""
    _, (point,) = await waiting(
        engine, NewWaitpoint(name="gate", expires_ms=1_000), condition=FOREVER
    )
    await clock.advance(999)
    assert await answer(engine, point, token_of(point)) is Effect.APPENDED
    await clock.advance(1)
    assert await code_of(engine, point, token_of(point)) == "waitpoint_closed"


async def test_a_waitpoint_with_the_largest_scope_can_be_answered(engine: Engine) -> None:
    """Whatever can be prepared has a token that is accepted."""
    names = tuple(f"{n:03}".ljust(128, "n") for n in range(64))
    _, (point,) = await waiting(engine, NewWaitpoint(name="gate", signals=names))
    assert await answer(engine, point, token_of(point), name=names[0]) is Effect.RESUMED


# The traps of the reference


async def test_trap_22_every_kid_is_good_until_its_own_end(engine: Engine) -> None:
    """Ten rotations inside the grace of the first key evict none."""
    _, (point,) = await waiting(engine, condition=FOREVER)
    tokens = [token_of(point)]
    for n in range(10):
        await engine.keyring.rotate(f"k{n}", grace_ms=60_000)
        tokens.append(await fresh_token(engine, point))
    for token in tokens:
        assert await answer(engine, point, token) is Effect.APPENDED


async def test_trap_23_readers_and_collectors_agree_on_the_last_ms(
    engine: Engine, clock: Clock
) -> None:
    """At one millisecond the key is good and kept, at the next it is neither."""
    _, (point,) = await waiting(engine, condition=FOREVER)
    old = token_of(point).split(".")[1]
    await engine.keyring.rotate("k2", grace_ms=1_000)
    await clock.advance(999)
    await engine.keyring.rotate("k3", grace_ms=1_000)
    assert old in (await engine.keyring.ring()).keys
    assert await answer(engine, point, token_of(point)) is Effect.APPENDED
    await clock.advance(1)
    with pytest.raises(TokenExpired):
        await answer(engine, point, token_of(point))
    await engine.keyring.rotate("k4", grace_ms=1_000)
    assert old not in (await engine.keyring.ring()).keys


@pytest.mark.parametrize("grace", [float("inf"), float("nan"), -1, 1.5, 10**30, "1000", None, True])
async def test_trap_24_a_grace_is_a_finite_integer(engine: Engine, dump: Dump, grace: Any) -> None:
    """Anything else is refused before anything is written."""
    await engine.keyring.install("k1", SECRET)
    before = dump()
    with pytest.raises(InvalidInput):
        await engine.keyring.rotate("k2", SECRET, grace_ms=grace)
    assert dump() == before


@pytest.mark.parametrize("how", ["revoked", "expired", "ended"])
async def test_trap_25_a_closed_waitpoint_buffers_nothing(
    engine: Engine, clock: Clock, dump: Dump, how: str
) -> None:
    """One that was prepared only, and closed before any wait."""
    claim = await running(engine)
    item = NewWaitpoint(name="gate", expires_ms=1_000, key="k")
    (point,) = await engine.waitpoints.prepare(claim.id, claim.lease, [item])
    if how == "revoked":
        await engine.waitpoints.revoke(point.id)
    elif how == "expired":
        await clock.advance(1_000)
    else:
        await engine.complete(claim.id, claim.lease, b"1")
    before = dump()
    for token in (None, token_of(point)):
        with pytest.raises(WaitpointClosed) as raised:
            await answer(engine, point, token)
        assert raised.value.context["why"] == how
    assert dump() == before


async def test_trap_26_a_stranger_learns_nothing(engine: Engine, clock: Clock, dump: Dump) -> None:
    """Whatever the state, a token that is not of this waitpoint gets one and the same answer."""
    claim, (point, closed) = await waiting(
        engine, NewWaitpoint(name="gate"), NewWaitpoint(name="closed"), timeout_ms=60_000
    )
    await engine.waitpoints.revoke(closed.id)
    ended, (over,) = await waiting(engine)
    await engine.cancel(ended.id, "")
    _, (other,) = await waiting(engine)
    forged = token_of(point)[:-1] + ("A" if token_of(point)[-1] != "A" else "B")
    before = dump()
    answers = set()
    unknown = ["nobody~w1", f"{claim.id}~w9", f"{ended.id}~w2"]
    for place in (point.id, closed.id, over.id, *unknown):
        for token in (forged, token_of(other), "hf1.x.y.z", ""):
            with pytest.raises(InvalidToken) as raised:
                await engine.waitpoints.signal(NewSignal(waitpoint=place, name="go"), token)
            answers.add((raised.value.code, raised.value.message, str(raised.value.context)))
    assert answers == {("invalid_token", "the token is not valid here", "{}")}
    assert dump() == before


async def test_trap_27_every_waitpoint_of_a_wait_has_a_token(engine: Engine) -> None:
    """Prepared by an earlier attempt, made by the wait, or both: the answer has all tokens."""
    claim = await running(engine)
    await engine.waitpoints.prepare(claim.id, claim.lease, [NewWaitpoint(name="a", key="k")])
    both = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    found = await engine.waitpoints.suspend(
        claim.id, claim.lease, [NewWaitpoint(name="a"), NewWaitpoint(name="b")], both
    )
    assert found.state is State.SUSPENDED
    effects = [await answer(engine, point, token_of(point)) for point in found.waitpoints]
    assert effects == [Effect.APPENDED, Effect.RESUMED]


async def test_trap_28_tokens_are_read_by_an_audited_call_only(engine: Engine) -> None:
    """Lists and the inbox have the fingerprint; who reads a token is in the history."""
    claim, (point,) = await waiting(engine)
    signature = token_of(point).rpartition(".")[2]
    shown = [
        repr(await engine.waitpoints.of(claim.id)),
        repr(await engine.waitpoints.inbox()),
        repr(await engine.history(claim.id)),
        repr(await engine.describe(claim.id)),
        repr(point),
    ]
    assert not any(signature in text for text in shown)
    assert point.fingerprint is not None
    assert all(point.fingerprint in text for text in shown[:2])
    token = await engine.waitpoints.token(point.id, reader="ann")
    assert token.reveal() == token_of(point)
    *_, event = await engine.history(claim.id)
    assert (event.event, event.data["reader"]) == ("token_read", "ann")
    with pytest.raises(InvalidInput):
        await engine.waitpoints.token(point.id, reader="")
