"""hf_waitpoint_signal."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import (
    InvalidPayload,
    InvalidToken,
    SignalNotAllowed,
    TokenExpired,
    TokenUsedUp,
    TooManySignals,
    WaitpointClosed,
    WaitpointNotFound,
)
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewSignal, NewWaitpoint, Source
from holdfast.store.store import Store
from holdfast.store.waitpoints import Sender
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, create_one, refused, state_of
from tests.support.waits import (
    effects_of,
    events_of,
    names_of,
    point_of,
    prepare_one,
    record_calls,
    run_one,
    send,
    send_item,
    suspend,
    suspend_one,
    token_of,
)


async def _try(store: Store, condition: dict[str, Any], *sent: tuple[Any, ...]) -> list[str]:
    """Suspend on `a`, `b` and `c` and send signals: waitpoint, name, source, payload."""
    claim, points = await suspend_one(store, "a", "b", "c", condition=condition)
    by_name = {point.name: point for point in points}
    effects = []
    for one in sent:
        filled: list[Any] = [*one, *("", "go", "", b"null")[len(one) :]]
        at, name, by, payload = filled
        effects.append((await send(store, by_name[at], name, by=by, payload=payload)).value)
    if effects[-1] == "resumed":
        assert await state_of(store, claim.id) is State.WAITING
    return effects


# Every form of condition


async def test_any(store: Store) -> None:
    """The first one is enough."""
    condition = {"any": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    assert await _try(store, condition, ("c",), ("b",)) == ["ignored", "resumed"]


async def test_all(store: Store) -> None:
    """Each of them, however often one of them gets something."""
    condition = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}, {"waitpoint": "c"}]}
    effects = await _try(store, condition, ("a",), ("a",), ("c",), ("b",))
    assert effects == ["appended", "appended", "appended", "resumed"]


async def test_count_of_conditions(store: Store) -> None:
    """Two of three."""
    condition = {"count": 2, "of": [{"waitpoint": name} for name in "abc"]}
    assert await _try(store, condition, ("a",), ("a",), ("c",)) == [
        *("appended", "appended", "resumed"),
    ]


async def test_count_of_signals(store: Store) -> None:
    """Three, wherever they come."""
    condition = {
        "count": 3,
        "distinct": "signals",
        "of": [{"waitpoint": "a"}, {"waitpoint": "b"}],
    }
    assert await _try(store, condition, ("a",), ("a",), ("b",)) == [
        *("appended", "appended", "resumed"),
    ]


async def test_count_of_sources(store: Store) -> None:
    """Two different approvers; one who approves twice is one."""
    condition = {
        "count": 2,
        "distinct": "sources",
        "of": [{"waitpoint": "a", "signal": "approve"}],
    }
    sent = [
        *(("a", "approve", "ann"), ("a", "approve", "ann"), ("a", "deny", "bob")),
        ("a", "approve", "bob"),
    ]
    assert await _try(store, condition, *sent) == ["appended", "duplicate", "ignored", "resumed"]


async def test_sources_differ_by_type_or_identity(store: Store) -> None:
    """And neither runs into the other."""
    condition = {"count": 3, "distinct": "sources", "of": [{"waitpoint": "gate"}]}
    _, (point,) = await suspend_one(store, condition=condition)
    effects = []
    for kind, identity in (("ab", "c"), ("a", "bc"), ("ab", "c"), ("", "")):
        source = Source(type=kind, identity=identity)
        item = NewSignal(waitpoint=point.id, name="go", source=source)
        effects.append(await send_item(store, item, Sender()))
    assert effects == [Effect.APPENDED, Effect.APPENDED, Effect.DUPLICATE, Effect.RESUMED]


async def test_count_of_waitpoints(store: Store) -> None:
    """At two different places."""
    condition = {
        "count": 2,
        "distinct": "waitpoints",
        "of": [{"waitpoint": name} for name in "abc"],
    }
    assert await _try(store, condition, ("a",), ("a",), ("b",)) == [
        *("appended", "appended", "resumed"),
    ]


async def test_nested(store: Store) -> None:
    """(a and b) or (two sources at c); no part takes a signal from another."""
    condition = {
        "any": [
            {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]},
            {"count": 2, "distinct": "sources", "of": [{"waitpoint": "c"}]},
        ]
    }
    sent = [("a",), ("c", "go", "ann"), ("c", "go", "ann"), ("c", "go", "bob")]
    assert await _try(store, condition, *sent) == [
        *("appended", "appended", "duplicate", "resumed"),
    ]


async def test_one_signal_counts_in_every_part_that_wants_it(store: Store) -> None:
    """Parts do not compete for signals."""
    condition = {
        "all": [
            {"waitpoint": "a", "signal": "approve"},
            {"waitpoint": "a", "signal": "app*"},
            {"waitpoint": "a"},
        ]
    }
    assert await _try(store, condition, ("a", "other"), ("a", "approve")) == [
        *("appended", "resumed"),
    ]


@pytest.mark.parametrize(
    ("wanted", "name", "effect"),
    [
        ("go", "go", "resumed"),
        ("go", "gone", "ignored"),
        ("go*", "go", "resumed"),
        ("go*", "gone", "resumed"),
        ("go*", "ago", "ignored"),
        ("*", "anything", "resumed"),
        ("g.*", "gx", "ignored"),
        ("g.*", "g.x", "resumed"),
        (["x", "go"], "go", "resumed"),
        (["x", "y*"], "go", "ignored"),
        ([], "go", "resumed"),
    ],
)
async def test_names(single_store: Store, wanted: Any, name: str, effect: str) -> None:
    """A star at the end stands for the rest; nothing else is special."""
    condition = {"waitpoint": "a", "signal": wanted}
    assert await _try(single_store, condition, ("a", name)) == [effect]


async def test_expressions(store: Store) -> None:
    """On the payload, the name and the source."""
    condition = {
        "all": [
            {"waitpoint": "a", "where": "payload.amount < 100 && name == 'offer'"},
            {"waitpoint": "a", "where": "source.identity == 'ann'"},
        ]
    }
    sent = [
        ("a", "offer", "bob", b'{"amount":100}'),
        ("a", "offer", "bob", b'"no amount"'),
        ("a", "other", "bob", b'{"amount":1}'),
        ("a", "other", "ann", b'{"amount":1}'),
        ("a", "offer", "bob", b'{"amount":99.5}'),
    ]
    assert await _try(store, condition, *sent) == [
        *("ignored", "ignored", "ignored", "appended", "resumed"),
    ]


async def test_the_attempt_gets_what_matched_in_order(store: Store) -> None:
    """What was ignored is not delivered."""
    condition = {"all": [{"waitpoint": "b"}, {"waitpoint": "a", "signal": "yes"}]}
    claim, (a, b) = await suspend_one(store, "a", "b", condition=condition)
    await send(store, a, "no")
    await send(store, a, "yes", payload=b"1")
    await send(store, b, "go", payload=b"2")
    claim = await claim_one(store, claim.id)
    assert [(one.name, one.value) for one in claim.signals] == [("yes", 1), ("go", 2)]


async def test_large_payloads_are_delivered_whole(store: Store) -> None:
    """Up to the limit of 64 KiB."""
    payload = b'"%s"' % (b"x" * (64 * 1024 - 2))
    claim, (point,) = await suspend_one(store)
    await send(store, point, payload=payload)
    assert (await claim_one(store, claim.id)).signals[0].payload == payload


# Once per key


async def test_a_key_counts_once(store: Store, clock: Clock, dump: Dump) -> None:
    """While it waits, after it was resumed, and after the end: a duplicate, and no change."""
    condition = {"count": 2, "distinct": "signals", "of": [{"waitpoint": "gate"}]}
    claim, (point,) = await suspend_one(store, condition=condition)
    assert await send(store, point, key="k1") is Effect.APPENDED
    for moment in ("waiting", "resumed", "ended"):
        if moment == "resumed":
            assert await send(store, point, key="k2") is Effect.RESUMED
        elif moment == "ended":
            claim = await claim_one(store, claim.id)
            await store.executions.complete(claim.id, claim.lease, b"1")
        before = dump()
        assert await send(store, point, "other", key="k1", payload=b"2") is Effect.DUPLICATE
        assert dump() == before
    assert len(await effects_of(store, claim.id)) == 2
    assert violations(dump(), clock.now_ms) == []


async def test_a_key_belongs_to_its_waitpoint(store: Store, dump: Dump) -> None:
    """Another waitpoint has its own; so has another execution."""
    both = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    _, (a, b) = await suspend_one(store, "a", "b", condition=both)
    assert await send(store, a, key="k") is Effect.APPENDED
    assert await send(store, b, key="k") is Effect.RESUMED
    assert violations(dump()) == []


async def test_without_a_key_each_call_counts(store: Store) -> None:
    """But not each sending of a call."""
    calls = record_calls(store)
    condition = {"count": 3, "distinct": "signals", "of": [{"waitpoint": "gate"}]}
    claim, (point,) = await suspend_one(store, condition=condition)
    assert await send(store, point) is Effect.APPENDED
    assert (await calls.again())[0] == b"appended"
    assert await send(store, point) is Effect.APPENDED
    assert len(await effects_of(store, claim.id)) == 2


async def test_a_lost_reply_of_the_signal_that_resumed_resumes_nothing_else(
    store: Store, dump: Dump
) -> None:
    """Not the next wait, whose waitpoint has the same name."""
    calls = record_calls(store)
    claim, (point,) = await suspend_one(store)
    await send(store, point)
    resuming = len(calls.calls) - 1
    claim = await claim_one(store, claim.id)
    await suspend(store, claim, "gate")
    before = dump()
    assert (await calls.again(resuming))[0] == b"resumed"
    assert dump() == before
    assert (await events_of(store, claim.id)).count("woken") == 1


async def test_an_early_signal_sent_again_during_the_wait_counts_once(store: Store) -> None:
    """Its key is remembered from before."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    assert await send(store, point, key="k") is Effect.BUFFERED
    assert await send(store, point, key="k") is Effect.DUPLICATE
    condition = {"count": 2, "distinct": "signals", "of": [{"waitpoint": "gate"}]}
    await suspend(store, claim, point, condition=condition)
    assert await send(store, point, key="k") is Effect.DUPLICATE
    assert await send(store, point, key="other") is Effect.RESUMED


# Schemas


async def test_a_payload_that_does_not_fit_is_refused(store: Store, dump: Dump) -> None:
    """Nothing changes, and the sender may try again under the same key."""
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    claim = await run_one(store)
    point = await prepare_one(store, claim, schema=schema, uses=1)
    for state in ("pending", "open"):
        if state == "open":
            await suspend(store, claim, point)
        call = send(store, point, key="k", payload=b'{"ok":1}', sender=token_of(point))
        await refused(call, InvalidPayload, dump, field="payload.ok")
    fits = send(store, point, key="k", payload=b'{"ok":true}', sender=token_of(point))
    assert await fits is Effect.RESUMED


async def test_a_check_that_was_made_before_the_wait_is_made_again(
    store: Store, dump: Dump
) -> None:
    """The state that the caller checked for must still be there."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, schema=True)

    async def call(version: str, fitting: str = "") -> list[Any]:
        return await store.caller.write(
            "hf_waitpoint_signal",
            store.tag_of(claim.id),
            *(claim.id, "1", "", "", "k", "go", "5", "", "", "", version, fitting),
        )

    before = dump()
    assert await call("") == [b"check", b"pending", b"true", []]
    await suspend(store, claim, point, condition={"waitpoint": "gate", "where": "payload > 3"})
    before = dump()
    assert await call("pending") == [b"check", b"open", b"true", [[1, b"payload > 3"]]]
    assert dump() == before
    assert await call("open", "1") == [b"resumed", 1, 0]


# Who may


async def test_the_mint_time_must_be_that_of_the_waitpoint(store: Store, dump: Dump) -> None:
    """A token of an earlier waitpoint with the same id, of an execution since forgotten."""
    _, (point,) = await suspend_one(store)
    made = token_of(point).made_ms or 0
    for wrong in (made - 1, made + 1, 0):
        await refused(send(store, point, sender=Sender(made_ms=wrong)), InvalidToken, dump)


async def test_a_token_is_good_until_the_grace_of_its_key_ends(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """From that millisecond on it is not."""
    condition = {"count": 9, "distinct": "signals", "of": [{"waitpoint": "gate"}]}
    _, (point,) = await suspend_one(store, condition=condition)
    sender = token_of(point, grace_until_ms=clock.now_ms + 1_000)
    await clock.advance(999)
    assert await send(store, point, key="k", sender=sender) is Effect.APPENDED
    await clock.advance(1)
    await refused(send(store, point, sender=sender), TokenExpired, dump)
    await refused(send(store, point, key="k", sender=sender), TokenExpired, dump)


async def test_names_and_sources_outside_the_scope(store: Store, dump: Dump) -> None:
    """With a token and without, known keys or not."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, signals=("go", "maybe*"), answerers=("ann",))
    for state in ("pending", "open"):
        if state == "open":
            condition = {"count": 9, "distinct": "signals", "of": [{"waitpoint": "gate"}]}
            await suspend(store, claim, point, condition=condition)
        for sender in (None, token_of(point)):
            for name, by, told in (
                ("stop", "ann", {"by": "named", "accepted": "go, maybe*", "got": "stop"}),
                ("gone", "ann", {"by": "named", "accepted": "go, maybe*", "got": "gone"}),
                ("go", "bob", {"by": "from", "accepted": "ann", "got": "bob"}),
                ("go", "", {"by": "from", "accepted": "ann", "got": "an unnamed source"}),
            ):
                call = send(store, point, name, by=by, key="k", sender=sender)
                await refused(call, SignalNotAllowed, dump, id=point.id, name=name, **told)
            effect = await send(store, point, "maybe-not", by="ann", sender=sender)
            assert effect is (Effect.BUFFERED if state == "pending" else Effect.APPENDED)


async def test_a_token_has_a_number_of_uses(store: Store, dump: Dump) -> None:
    """Those that did nothing count too; an operator is not bound; a duplicate is told first."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, uses=3)
    sender = token_of(point)
    assert await send(store, point, key="k", sender=sender) is Effect.BUFFERED
    condition = {"count": 3, "distinct": "signals", "of": [{"waitpoint": "gate", "signal": "go"}]}
    await suspend(store, claim, point, condition=condition)
    assert await send(store, point, "other", sender=sender) is Effect.IGNORED
    assert await send(store, point, sender=sender) is Effect.APPENDED
    call = send(store, point, sender=sender)
    await refused(call, TokenUsedUp, dump, id=point.id, limit=3)
    assert await send(store, point, key="k", sender=sender) is Effect.DUPLICATE
    assert (await point_of(store, point)).used == 3
    assert await send(store, point) is Effect.RESUMED


async def test_an_operator_does_not_use_up_the_token(store: Store) -> None:
    """The uses of a token are those of its holder."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, uses=1)
    assert await send(store, point, "first") is Effect.BUFFERED
    assert await send(store, point, "second", sender=token_of(point)) is Effect.BUFFERED


async def test_unknown_waitpoints(store: Store, dump: Dump) -> None:
    """With a token they look like a wrong token; an operator is told."""
    other = (await suspend_one(store))[0].id
    one = await create_one(store)
    for execution_id, number in (("nobody", 1), (one, 1), (other, 2)):
        point = f"{execution_id}~w{number}"
        await refused(send(store, point), WaitpointNotFound, dump, id=point)
        await refused(send(store, point, sender=Sender(made_ms=5)), InvalidToken, dump)


async def test_a_refused_signal_does_not_fire_a_timeout(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A stranger changes nothing, not even what is due."""
    _, (point,) = await suspend_one(store, timeout_ms=1_000)
    await clock.advance(1_000)
    await refused(send(store, point, sender=Sender(made_ms=5)), InvalidToken, dump)


# Where it is too late, and how many


@pytest.mark.parametrize("how", ["resumed", "ended", "revoked", "expired"])
async def test_a_late_signal_is_told_why(store: Store, clock: Clock, dump: Dump, how: str) -> None:
    """After the token is proved."""
    claim = await run_one(store)
    answer = await suspend(store, claim, NewWaitpoint(name="gate", expires_ms=50, key="k"))
    (point,) = answer.waitpoints
    if how == "resumed":
        await store.waitpoints.resume(claim.id, b"null", "")
    elif how == "ended":
        await store.executions.cancel(claim.id, "")
    elif how == "revoked":
        await store.waitpoints.revoke(claim.id, 1)
    else:
        await clock.advance(50)
    for sender in (None, token_of(point)):
        call = send(store, point, sender=sender)
        await refused(call, WaitpointClosed, dump, id=point.id, why=how)
    await refused(send(store, point, sender=Sender(made_ms=1)), InvalidToken, dump)


async def test_a_pending_waitpoint_of_an_ended_execution_takes_nothing(
    store: Store, dump: Dump
) -> None:
    """Nor one whose execution completed."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    await store.executions.complete(claim.id, claim.lease, b"1")
    await refused(send(store, point), WaitpointClosed, dump, id=point.id, why="ended")
    assert violations(dump()) == []


async def test_there_is_a_most(store: Store, dump: Dump) -> None:
    """Per execution; what was counted before is still a duplicate."""
    claim, (point,) = await suspend_one(store, condition={"waitpoint": "gate", "signal": "go"})
    await send(store, point, "other", key="k")
    record = f"{store.tag_of(claim.id)}:x:{claim.id}"
    await store.client.call(["HSET", record, "signals", "10000"])
    await refused(send(store, point), TooManySignals, dump, id=claim.id, limit=10_000)
    assert await send(store, point, "other", key="k") is Effect.DUPLICATE
    await store.waitpoints.resume(claim.id, b"null", "")
    assert await state_of(store, claim.id) is State.WAITING


async def test_only_the_first_of_two_that_would_resume_does(store: Store, dump: Dump) -> None:
    """The second is late."""
    claim, (a, b) = await suspend_one(store, "a", "b")
    assert await send(store, a) is Effect.RESUMED
    await refused(send(store, b), WaitpointClosed, dump, id=b.id, why="resumed")
    assert names_of((await claim_one(store, claim.id)).signals) == ["go"]


async def test_a_source_that_answered_twice_before_the_wait_counts_once(store: Store) -> None:
    """Buffered signals are counted when the wait begins, by the rule for those that come later."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    for number in range(2):
        effect = await send(store, point, key=f"k{number}", by="ann")
        assert effect is Effect.BUFFERED
    condition = {"count": 2, "distinct": "sources", "of": [{"waitpoint": "gate"}]}
    await suspend(store, claim, "gate", condition=condition)
    effects = [effect for _, effect in await effects_of(store, claim.id)]
    assert effects == ["appended", "duplicate"]
    assert await send(store, point, by="ben") is Effect.RESUMED
