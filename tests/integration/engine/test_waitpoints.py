"""Waiting from end to end, on one server and on a cluster: races, crashes, signals, the inbox."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import (
    ExecutionNotFound,
    HoldfastError,
    InvalidCondition,
    InvalidInput,
    InvalidPayload,
    InvalidToken,
    NotActive,
    NotSuspended,
    WaitpointClosed,
    WaitpointNotFound,
)
from holdfast.model.executions import Claim, Lease
from holdfast.model.states import State
from holdfast.model.waitpoints import (
    Effect,
    InboxItem,
    NewSignal,
    NewWaitpoint,
    Prepared,
    Source,
    Waitpoint,
    WaitpointState,
)
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, state_of
from tests.support.waits import names_of

pytestmark = pytest.mark.usefixtures("clock")

#: Any signal to the waitpoint `gate`.
GATE = {"waitpoint": "gate"}


async def running(engine: Engine, **fields: Any) -> Claim:
    """Submit an execution and claim it."""
    made = await engine.submit("work", **fields)
    return await claim_one(engine.store, made.id)


async def waiting(
    engine: Engine, *items: NewWaitpoint, fields: dict[str, Any] | None = None, **options: Any
) -> tuple[Claim, list[Waitpoint]]:
    """Return an execution that is suspended, and its waitpoints with tokens."""
    claim = await running(engine, **(fields or {}))
    points = items or [NewWaitpoint(name="gate")]
    options.setdefault("condition", {"any": [{"waitpoint": point.name} for point in points]})
    answer = await engine.waitpoints.suspend(claim.id, claim.lease, points, **options)
    assert answer.state is State.SUSPENDED
    return claim, list(answer.waitpoints)


def signal_to(point: Waitpoint, name: str = "go", **fields: Any) -> NewSignal:
    """Return a signal to a waitpoint."""
    return NewSignal(waitpoint=point.id, name=name, **fields)


def token_of(point: Waitpoint) -> str:
    """Return the token of a waitpoint that a call has made."""
    assert point.token is not None
    return point.token.reveal()


# Races


@pytest.mark.parametrize("how", ["one key", "many keys"])
async def test_of_eight_racing_signals_one_resumes(engine: Engine, dump: Dump, how: str) -> None:
    """The others are duplicates or late; the attempt goes on once, with one signal."""
    claim, (point,) = await waiting(engine)
    keys = ["k"] * 8 if how == "one key" else [f"k{n}" for n in range(8)]
    answers = await asyncio.gather(
        *(
            engine.waitpoints.signal(signal_to(point, idempotency_key=key), token_of(point))
            for key in keys
        ),
        return_exceptions=True,
    )
    assert answers.count(Effect.RESUMED) == 1
    others = [answer for answer in answers if answer is not Effect.RESUMED]
    if how == "one key":
        assert others == [Effect.DUPLICATE] * 7
    else:
        assert {type(answer) for answer in others} == {WaitpointClosed}
    events = [event.event for event in await engine.history(claim.id)]
    assert (events.count("woken"), len(await engine.waitpoints.signals(claim.id))) == (1, 1)
    assert names_of((await claim_one(engine.store, claim.id)).signals) == ["go"]
    assert violations(dump()) == []


async def test_of_many_racing_approvals_the_second_source_resumes(engine: Engine) -> None:
    """Eight people approve twice each at the same time."""
    condition = {"count": 5, "distinct": "sources", "of": [{"waitpoint": "gate"}]}
    claim, (point,) = await waiting(engine, condition=condition)
    answers = await asyncio.gather(
        *(
            engine.waitpoints.signal(
                signal_to(point, source=Source(type="user", identity=f"p{n % 8}"))
            )
            for n in range(16)
        ),
        return_exceptions=True,
    )
    assert answers.count(Effect.RESUMED) == 1
    signals = (await claim_one(engine.store, claim.id)).signals
    assert len({one.source.identity for one in signals}) == 5
    assert len(signals) == answers.count(Effect.APPENDED) + 1


@pytest.mark.parametrize("on_timeout", ["fail", "cancel", "expire", "resume", "escalate"])
async def test_signal_timeout_and_cancel_race(
    engine: Engine, clock: Clock, dump: Dump, on_timeout: str
) -> None:
    """Whoever is first wins, at the millisecond of the timeout too; nothing happens twice."""
    for ms in (999, 1_000):
        claim, (point,) = await waiting(engine, timeout_ms=1_000, on_timeout=on_timeout)
        await clock.advance(ms)
        signal, cancel, resume, _ = await asyncio.gather(
            engine.waitpoints.signal(signal_to(point)),
            engine.cancel(claim.id, "enough"),
            engine.waitpoints.resume(claim.id),
            clock.tick(),
            return_exceptions=True,
        )
        history = [event.event for event in await engine.history(claim.id)]
        state = await state_of(engine.store, claim.id)
        ends = [event for event in history if event in ("failed", "cancelled", "expired")]
        assert len(ends) == state.is_terminal
        assert history.count("woken") <= 1
        if signal is Effect.RESUMED:
            assert history.count("woken") == 1
        if not isinstance(cancel, HoldfastError):
            assert state is State.CANCELLED
        if not isinstance(resume, BaseException):
            assert (await engine.waitpoints.signals(claim.id))[-1].name == "resume"
        for answer in (signal, cancel, resume):
            assert isinstance(answer, HoldfastError | Effect | State) or answer is None
        if not state.is_terminal:
            await engine.cancel(claim.id, "")
        assert violations(dump(), clock.now_ms) == []
        await clock.set(clock.now_ms + 1)


async def test_signal_and_suspend_race(engine: Engine, dump: Dump) -> None:
    """A signal comes early or during the wait: it is never lost."""
    for n in range(10):
        claim = await running(engine)
        (point,) = await engine.waitpoints.prepare(
            claim.id, claim.lease, [NewWaitpoint(name="gate", key="k")]
        )
        effect, answer = await asyncio.gather(
            engine.waitpoints.signal(signal_to(point), token_of(point)),
            engine.waitpoints.suspend(claim.id, claim.lease, [point.id], GATE, key=f"w{n}"),
        )
        if effect is Effect.BUFFERED:
            assert (answer.state, names_of(answer.signals)) == (State.ACTIVE, ["go"])
            await engine.complete(claim.id, claim.lease, b"1")
        else:
            assert (effect, answer.state) == (Effect.RESUMED, State.SUSPENDED)
            again = await claim_one(engine.store, claim.id)
            assert names_of(again.signals) == ["go"]
            await engine.complete(claim.id, again.lease, b"1")
    assert violations(dump()) == []


# Crashes


async def test_a_crash_between_prepare_and_suspend(engine: Engine, clock: Clock) -> None:
    """The next attempt prepares under the same key, and finds the answer that came meanwhile."""
    first = await running(engine)
    item = NewWaitpoint(name="approval", key="approval-1", title="Ship it?")
    (told,) = await engine.waitpoints.prepare(first.id, first.lease, [item])
    effect = await engine.waitpoints.signal(signal_to(told, payload=b"true"), token_of(told))
    assert effect is Effect.BUFFERED
    await clock.advance_and_tick(30_000)
    second = await claim_one(engine.store, first.id)
    with pytest.raises(HoldfastError):
        await engine.waitpoints.suspend(first.id, first.lease, [told.id], GATE)
    (found,) = await engine.waitpoints.prepare(second.id, second.lease, [item])
    assert (found.id, token_of(found)) == (told.id, token_of(told))
    answer = await engine.waitpoints.suspend(
        second.id, second.lease, [Prepared(found.id, found.name)], {"waitpoint": found.name}
    )
    assert (answer.state, answer.signals[0].value) == (State.ACTIVE, True)


async def test_a_crash_after_the_resume(engine: Engine, clock: Clock) -> None:
    """The attempt after it asks under the same key and goes on at once."""
    claim, (point,) = await waiting(engine, key="w")
    await engine.waitpoints.signal(signal_to(point, "yes"))
    await claim_one(engine.store, claim.id)
    await clock.advance_and_tick(30_000)
    claim = await claim_one(engine.store, claim.id)
    assert (claim.lease.attempt, claim.resumed) == (1, "w")
    answer = await engine.waitpoints.suspend(
        claim.id, claim.lease, [NewWaitpoint(name="gate")], GATE, key="w"
    )
    assert (answer.state, names_of(answer.signals)) == (State.ACTIVE, ["yes"])


# Signals


async def test_duplicates_and_late_signals(engine: Engine, dump: Dump) -> None:
    """A duplicate is told as one whenever it comes; a late one is refused."""
    claim, (point,) = await waiting(engine)
    assert await engine.waitpoints.signal(signal_to(point, idempotency_key="k")) is Effect.RESUMED
    before = dump()
    again = signal_to(point, idempotency_key="k")
    assert await engine.waitpoints.signal(again, token_of(point)) is Effect.DUPLICATE
    with pytest.raises(WaitpointClosed) as raised:
        await engine.waitpoints.signal(signal_to(point), token_of(point))
    assert raised.value.context == {"id": point.id, "why": "resumed"}
    assert dump() == before
    claim = await claim_one(engine.store, claim.id)
    await engine.complete(claim.id, claim.lease, b"1")
    assert await engine.waitpoints.signal(again, token_of(point)) is Effect.DUPLICATE


async def test_a_payload_is_checked_against_the_schema(engine: Engine, dump: Dump) -> None:
    """The sender is told what does not fit, and nothing changes."""
    schema = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}
    _, (point,) = await waiting(engine, NewWaitpoint(name="gate", schema=schema))
    before = dump()
    for payload, field in ((b"{}", "payload"), (b'{"ok":1}', "payload.ok"), (b"[]", "payload")):
        with pytest.raises(InvalidPayload) as raised:
            await engine.waitpoints.signal(signal_to(point, payload=payload), token_of(point))
        assert raised.value.context["field"] == field
    assert dump() == before
    fits = signal_to(point, payload=b'{"ok":true}')
    assert await engine.waitpoints.signal(fits, token_of(point)) is Effect.RESUMED


async def test_bulk_signals(engine: Engine, dump: Dump) -> None:
    """An answer for each, in order; an error of one costs the others nothing."""
    both = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    _, (a, b) = await waiting(
        engine, NewWaitpoint(name="a"), NewWaitpoint(name="b"), condition=both
    )
    answers = await engine.waitpoints.signal_many(
        [
            (signal_to(a, idempotency_key="k"), token_of(a)),
            (signal_to(a), token_of(b)),
            (NewSignal(waitpoint="nobody~w1", name="go"), None),
            (NewSignal(waitpoint="nobody~w1", name="go"), token_of(a)),
        ]
    )
    assert answers[0] is Effect.APPENDED
    assert [type(answer) for answer in answers[1:]] == [
        *(InvalidToken, WaitpointNotFound, InvalidToken),
    ]
    answers = await engine.waitpoints.signal_many(
        [
            (signal_to(a, idempotency_key="k"), None),
            (signal_to(b), token_of(b)),
        ]
    )
    assert answers == [Effect.DUPLICATE, Effect.RESUMED]
    assert violations(dump()) == []


async def test_bulk_signals_are_bounded(engine: Engine) -> None:
    """A thousand at once."""
    item = NewSignal(waitpoint="nobody~w1", name="go")
    assert await engine.waitpoints.signal_many([]) == []
    with pytest.raises(InvalidInput):
        await engine.waitpoints.signal_many([(item, None)] * 1_001)


async def test_the_attempt_is_delivered_what_matched(engine: Engine) -> None:
    """With sources and payloads, typed by whoever asked."""
    condition = {"count": 2, "distinct": "sources", "of": [{"waitpoint": "gate", "signal": "yes"}]}
    claim, (point,) = await waiting(engine, condition=condition, reason="approval")
    for who, name in (("ann", "yes"), ("bob", "no"), ("bob", "yes")):
        item = signal_to(point, name, source=Source(type="user", identity=who), payload=b"[1]")
        await engine.waitpoints.signal(item, token_of(point))
    signals = (await claim_one(engine.store, claim.id)).signals
    assert [(one.source.identity, one.value) for one in signals] == [("ann", [1]), ("bob", [1])]
    effects = [one.effect.value for one in await engine.waitpoints.signals(claim.id)]
    assert effects == ["appended", "ignored", "resumed"]


# Operators


async def test_operators_resume_and_revoke(engine: Engine) -> None:
    """A revoked waitpoint takes nothing; a resumed execution goes on with a word of theirs."""
    claim, (point,) = await waiting(engine)
    assert await engine.waitpoints.revoke(point.id) == "revoked"
    with pytest.raises(WaitpointClosed):
        await engine.waitpoints.signal(signal_to(point), token_of(point))
    state = await engine.waitpoints.resume(claim.id, b'{"by":"hand"}', identity="op")
    assert state is State.WAITING
    with pytest.raises(NotSuspended):
        await engine.waitpoints.resume(claim.id)
    (word,) = (await claim_one(engine.store, claim.id)).signals
    assert (word.name, word.value, word.source.identity) == ("resume", {"by": "hand"}, "op")


async def test_lists_have_no_tokens(engine: Engine) -> None:
    """But what identifies them."""
    claim, (point,) = await waiting(engine)
    (listed,) = await engine.waitpoints.of(claim.id)
    assert listed.token is None
    assert (listed.kid, listed.fingerprint) == (point.kid, point.fingerprint)
    (item,) = (await engine.waitpoints.inbox()).items
    assert item.waitpoint == listed


# The inbox


async def _pages(engine: Engine, limit: int, tenant: str | None = None) -> list[InboxItem]:
    items: list[InboxItem] = []
    cursor: str | None = None
    for _ in range(100):
        page = await engine.waitpoints.inbox(tenant, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items
    raise AssertionError("the inbox does not end")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 50])
async def test_the_inbox_is_paged_over_partitions(engine: Engine, clock: Clock, limit: int) -> None:
    """Each waitpoint once, the oldest first; those of one millisecond, too."""
    made = []
    for n in range(8):
        tenant = "acme" if n % 2 else "beta"
        _, (point,) = await waiting(engine, fields={"tenant": tenant})
        made.append((point.created_at, point.id))
        if n % 3 == 0:
            await clock.advance(1)
    found = await _pages(engine, limit)
    assert [item.waitpoint.created_at for item in found] == sorted(at for at, _ in made)
    assert sorted(item.waitpoint.id for item in found) == sorted(i for _, i in made)
    acme = await _pages(engine, limit, "acme")
    assert [item.tenant for item in acme] == ["acme"] * 4
    assert {item.waitpoint.id for item in acme} <= {i for _, i in made}


async def test_the_inbox_tells_who_may_answer_since_when_and_until_when(
    engine: Engine, clock: Clock
) -> None:
    """All that people need to decide."""
    item = NewWaitpoint(
        name="gate", answerers=("ann", "bob"), title="Ship?", expires_ms=5_000, signals=("yes",)
    )
    await waiting(engine, item, fields={"tenant": "acme"})
    (found,) = (await engine.waitpoints.inbox("acme")).items
    point = found.waitpoint
    assert (point.title, point.answerers, point.signals) == ("Ship?", ("ann", "bob"), ("yes",))
    assert point.created_at == clock.now
    assert (point.expires_at, found.escalated) == (point.expires_at, False)
    assert (await engine.waitpoints.inbox("beta")).items == ()


@pytest.mark.parametrize("cursor", ["", "x", "5", ".e~w1", "-1.e", "9" * 600])
async def test_a_cursor_that_no_list_returned(engine: Engine, cursor: str) -> None:
    """It is refused under its name."""
    with pytest.raises(InvalidInput) as raised:
        await engine.waitpoints.inbox(cursor=cursor)
    assert raised.value.context["field"] == "cursor"


# What is checked at the entry


async def test_what_cannot_be_waited_for(engine: Engine, dump: Dump) -> None:
    """Nothing is written."""
    claim = await running(engine)
    gate = NewWaitpoint(name="gate")
    await engine.waitpoints.inbox()
    before = dump()
    wrong: list[tuple[type[HoldfastError], tuple[Any, ...], dict[str, Any]]] = [
        (InvalidInput, ([], GATE), {}),
        (InvalidInput, ([gate, gate], GATE), {}),
        (InvalidInput, ([NewWaitpoint(name=f"n{n}") for n in range(65)], GATE), {}),
        (InvalidInput, ([5], GATE), {}),
        (WaitpointNotFound, (["gate"], GATE), {}),
        (WaitpointNotFound, ([f"{claim.id}~w1"], GATE), {}),
        (InvalidInput, ([gate], GATE), {"timeout_ms": 0}),
        (InvalidInput, ([gate], GATE), {"timeout_ms": float("inf")}),
        (InvalidInput, ([gate], GATE), {"timeout_ms": 1, "on_timeout": "explode"}),
        (InvalidInput, ([gate], GATE), {"reason": "boredom"}),
        (InvalidInput, ([gate], GATE), {"key": ""}),
        (InvalidCondition, ([gate], {"waitpoint": "other"}), {}),
        (InvalidCondition, ([gate], []), {}),
        (InvalidCondition, ([gate], None), {}),
        (InvalidCondition, ([gate], {}), {}),
        (InvalidInput, ([NewWaitpoint(name="gate", schema={"type": 5})], GATE), {}),
    ]
    for error, args, options in wrong:
        with pytest.raises(error):
            await engine.waitpoints.suspend(claim.id, claim.lease, *args, **options)
    with pytest.raises(InvalidInput):
        await engine.waitpoints.suspend("", claim.lease, [gate], GATE)
    with pytest.raises(InvalidInput):
        await engine.waitpoints.suspend(claim.id, "lease", [gate], GATE)  # type: ignore[arg-type]
    assert dump() == before


async def test_a_waitpoint_of_another_execution_cannot_be_waited_for(engine: Engine) -> None:
    """Each execution has its own."""
    _, (other,) = await waiting(engine)
    claim = await running(engine)
    with pytest.raises(WaitpointNotFound):
        await engine.waitpoints.suspend(claim.id, claim.lease, [other.id], GATE)
    with pytest.raises(InvalidInput):
        await engine.waitpoints.suspend(claim.id, claim.lease, [Prepared(other.id, "gate")], GATE)


async def test_unknown_executions(engine: Engine) -> None:
    """All calls say so."""
    lease = Lease("x", 1, 0)
    gate = NewWaitpoint(name="gate")
    for call in (
        engine.waitpoints.prepare("nobody", lease, [gate]),
        engine.waitpoints.suspend("nobody", lease, [gate], GATE),
        engine.waitpoints.resume("nobody"),
        engine.waitpoints.of("nobody"),
        engine.waitpoints.signals("nobody"),
    ):
        with pytest.raises(ExecutionNotFound):
            await call
    for point in ("nobody~w1", "nobody~w999999999"):
        with pytest.raises(WaitpointNotFound):
            await engine.waitpoints.revoke(point)
        with pytest.raises(WaitpointNotFound):
            await engine.waitpoints.token(point, reader="ann")


async def test_the_former_holder_is_refused_while_it_waits(engine: Engine) -> None:
    """It gave its lease back."""
    claim, (point,) = await waiting(engine)
    assert point.state is WaitpointState.OPEN
    with pytest.raises(NotActive):
        await engine.complete(claim.id, claim.lease, b"1")
