"""First leases of executions with limits: a claim opens them, and then asks their limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from holdfast.model.executions import Failure, Lease
from holdfast.model.limit_refs import LimitRef
from holdfast.model.quotas import Rule
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store.grants import Grant, Verdict, Wanted
from holdfast.store.outboxes import Release, parse
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.briefs import record_of
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, create_one, create_together, state_of
from tests.support.limits import (
    admit,
    grant_one,
    lease_one,
    make_budget,
    make_quota,
    release,
    wanted,
)  # fmt: skip

RETRY = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=0))


async def is_brief(store: Store, execution_id: str) -> bool:
    key = f"{store.tag_of(execution_id)}:x:{execution_id}"
    return bool(await store.client.call(["TYPE", key]) == b"string")


async def hold_back(
    store: Store, asked: Wanted, grant: Grant, touched: tuple[LimitRef, ...] = ()
) -> None:
    """Report that quota `q` has refused a lease."""
    verdict = Verdict(blocker=LimitRef.quota("q"), touched=touched)
    tag = store.tag_of(grant.execution_id)
    assert await store.executions.activate(tag, asked, [(grant, verdict)]) == []


async def said(store: Store, execution_id: str) -> list[object]:
    """Return what the partition of an execution has to tell its limits."""
    return [parse(entry) for entry in await store.outboxes.read(store.tag_of(execution_id))]


@pytest.mark.parametrize("name", ["q", "q" * 60])
@pytest.mark.parametrize("size", [1, 65, 257])
async def test_an_execution_with_limits_is_a_brief_to_its_end(
    store: Store, dump: Dump, name: str, size: int
) -> None:
    """Whatever the size of its input and of the names of its limits."""
    await make_quota(store, name)
    await make_budget(store, "b")
    payload = b"x" * size
    execution_id = await create_one(store, quotas=(name,), budgets=("b",), input=payload)
    assert await is_brief(store, execution_id)
    found = await store.queries.describe(execution_id)
    assert (found.quotas, found.budgets) == ((name,), ("b",))
    asked, grant = await lease_one(store, execution_id)
    assert (grant.epoch, grant.limits) == (1, f"b:b\nq:{name}")
    claim = grant.claim
    assert claim is not None
    assert claim.lease == Lease(asked.request, 1, 0)
    assert (claim.input, claim.quotas, claim.budgets) == (payload, (name,), ("b",))
    assert violations(dump()) == []
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert await is_brief(store, execution_id)
    quotas = (LimitRef.quota(name),)
    assert await said(store, execution_id) == [Release(execution_id, "1", "1", quotas)]
    assert violations(dump()) == []
    found = await store.queries.describe(execution_id)
    assert (found.state, found.attempts, found.quotas) == (State.COMPLETED, 1, (name,))


@pytest.mark.parametrize("name", ["q", "q" * 60, "q" * 64])
async def test_any_other_change_unfolds_it(store: Store, dump: Dump, name: str) -> None:
    """Its limits, its input and its place in the lists are kept."""
    await make_quota(store, name)
    execution_id = await create_one(store, quotas=(name,), budgets=(), input=b"x" * 100)
    _, grant = await lease_one(store, execution_id)
    assert grant.claim is not None
    await store.leases.renew([(execution_id, grant.claim.lease)], 90_000)
    assert not await is_brief(store, execution_id)
    record = await record_of(store, execution_id)
    assert (record[b"plain"], record[b"limited"]) == (b"2", b"1")
    assert (await store.queries.describe(execution_id)).quotas == (name,)
    assert await store.queries.input(execution_id) == b"x" * 100
    assert violations(dump()) == []
    await store.executions.complete(execution_id, grant.claim.lease, b"1")
    quotas = (LimitRef.quota(name),)
    assert await said(store, execution_id) == [Release(execution_id, "1", "1", quotas)]
    assert violations(dump()) == []


async def test_what_is_refused_is_held_back_as_if_it_had_not_been_leased(
    store: Store, dump: Dump
) -> None:
    """No attempt counts, the lease is void, and limits that admitted it learn of it."""
    await make_quota(store)
    await make_quota(store, "other")
    execution_id = await create_one(store, quotas=("q", "other"))
    asked, grant = await lease_one(store, execution_id)
    other = LimitRef.quota("other")
    await hold_back(store, asked, grant, (other,))
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold, found.blocked_by) == (State.RATE_LIMITED, Hold.QUOTA, "q")
    assert (found.attempts, found.epoch, found.started_at) == (0, 1, None)
    events = [event.event for event in await store.queries.history(execution_id)]
    assert events == ["created", "rate_limited"]
    assert await said(store, execution_id) == [Release(execution_id, "1", "0", (other,))]
    assert violations(dump()) == []
    before = dump()
    await hold_back(store, asked, grant, (other,))
    assert dump() == before


async def test_the_next_claim_of_what_was_held_back_is_a_grant(store: Store, dump: Dump) -> None:
    """Its first attempt is the one that starts then."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, lost = await lease_one(store, execution_id)
    await hold_back(store, asked, lost)
    tag = store.tag_of(execution_id)
    await store.executions.unblock(tag, [(execution_id, "q:q")])
    asked = wanted()
    claims, (grant,) = await store.executions.claim(tag, asked)
    assert (claims, grant.epoch, grant.claim) == ([], 2, None)
    (claim,) = await store.executions.activate(tag, asked, [(grant, None)])
    assert claim.lease == Lease(asked.request, 2, 0)
    assert claim.attempt_kind is AttemptKind.INITIAL
    assert violations(dump()) == []


async def test_a_wake_up_may_overtake_the_refusal(store: Store, dump: Dump) -> None:
    """Then the execution is ready at once, and needs no other wake-up."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await lease_one(store, execution_id)
    tag = store.tag_of(execution_id)
    await store.executions.unblock(tag, [(execution_id, "q:q")])
    assert await state_of(store, execution_id) is State.ACTIVE
    await hold_back(store, asked, grant)
    assert (await store.queries.describe(execution_id)).attempts == 0
    assert violations(dump()) == []
    _, again = await grant_one(store, execution_id)
    assert again.epoch == 2


async def test_a_repeated_claim_gets_the_same_leases(store: Store, dump: Dump) -> None:
    """A lost reply loses none, and their limits are asked again; the first repetition is noted."""
    await make_quota(store, max_concurrent=9)
    ids = await create_together(store, {"quotas": ("q",)}, {}, {"quotas": ("q",), "input": b"7"})
    tag, asked = store.tag_of(ids[0]), wanted()
    plain, grants = await store.executions.claim(tag, asked)
    assert [grant.claim and grant.claim.input for grant in grants] == [b"null", b"7"]
    assert await store.executions.claim(tag, asked) == (plain, grants)
    noted = dump()
    assert violations(noted) == []
    assert await store.executions.claim(tag, asked) == (plain, grants)
    assert dump() == noted


async def test_the_end_of_a_repeated_claim_voids_what_may_still_be_asked(store: Store) -> None:
    """The other process that has the claim may ask after this end; others end as usual."""
    await make_quota(store, max_concurrent=9)
    limited = {"quotas": ("q",)}
    ids = await create_together(store, limited, {}, {**limited, "tags": {"a": "b"}}, limited)
    tag, asked = store.tag_of(ids[0]), wanted(limit=3)
    for _ in range(2):
        (plain,), grants = await store.executions.claim(tag, asked)
    (granted,) = await store.executions.activate(tag, asked, [(grants[1], None)])
    _, (once,) = await store.executions.claim(tag, wanted())
    for claim in (grants[0].claim, granted, once.claim, plain):
        assert claim
        await store.executions.complete(claim.id, claim.lease, b"1")
    used = {ids[0]: "2", ids[2]: "2", ids[3]: "1"}
    entries = [parse(entry) for entry in await store.outboxes.read(tag)]
    assert {e.executions: e.used for e in entries if isinstance(e, Release)} == used


async def test_the_next_claim_of_a_repeated_one_ends_as_usual(store: Store) -> None:
    """Only one process has asked for it."""
    await make_quota(store, max_concurrent=9)
    execution_id = await create_one(store, quotas=("q",), retry=RETRY)
    tag, asked = store.tag_of(execution_id), wanted()
    for _ in range(2):
        _, (grant,) = await store.executions.claim(tag, asked)
    assert grant.claim
    await store.executions.fail(execution_id, grant.claim.lease, Failure(type="e", message="m"))
    asked, grant = await grant_one(store, execution_id)
    (claim,) = await store.executions.activate(tag, asked, [(grant, None)])
    await store.executions.complete(execution_id, claim.lease, b"1")
    _, last = [parse(entry) for entry in await store.outboxes.read(tag)]
    assert isinstance(last, Release)
    assert (last.epoch, last.used) == ("2", "1")


async def test_executions_of_one_kind_may_have_various_limits(store: Store, dump: Dump) -> None:
    """Each is handed out with its own; those that are particular otherwise have grants."""
    await make_quota(store, max_concurrent=9)
    await make_quota(store, "q2", max_concurrent=9)
    limits: list[tuple[str, ...]] = [("q",), (), ("q2",), ("q", "q2"), ("q",), ()]
    items = [
        {"quotas": quotas, "tags": {"a": "b"} if n == 4 else {}} for n, quotas in enumerate(limits)
    ]
    ids = await create_together(store, *items)
    plain, grants = await store.executions.claim(store.tag_of(ids[0]), wanted())
    assert [claim.id for claim in plain] == [ids[1], ids[5]]
    assert [grant.execution_id for grant in grants] == [ids[0], ids[2], ids[3], ids[4]]
    found = [grant.claim.quotas if grant.claim else None for grant in grants]
    assert found == [("q",), ("q2",), ("q", "q2"), None]
    assert violations(dump()) == []


async def test_a_process_that_does_not_ask_gets_a_grant(store: Store, dump: Dump) -> None:
    """Those of 0.2.0 would run what is leased; also among others that are no briefs."""
    await make_quota(store, max_concurrent=9)
    limited = {"quotas": ("q",)}
    ids = await create_together(store, {**limited, "tags": {"a": "b"}}, limited, limited, {})
    for execution_id in ids[:3]:
        _, grant = await grant_one(store, execution_id)
        assert grant.limits == "q:q"
    assert violations(dump()) == []


EXITS: dict[str, Callable[[Store, Clock, str], Awaitable[object]]] = {
    "cancel": lambda store, _, one: store.executions.cancel(one, ""),
    "revoke": lambda store, _, one: store.leases.revoke(one, ""),
    "death": lambda _, clock, __: clock.advance_and_tick(30_000),
}


@pytest.mark.parametrize("how", EXITS)
@pytest.mark.parametrize("watched", [False, True])
async def test_an_admission_after_the_end_of_the_lease_is_void(
    store: Store, clock: Clock, how: str, *, watched: bool
) -> None:
    """A call that ends a lease cannot know whether its limits were asked; nothing leaks if not."""
    await make_quota(store, max_per_window=5, window_ms=60_000, max_concurrent=1)
    await make_budget(store)
    execution_id = await create_one(store, quotas=("q",), budgets=("b",))
    await lease_one(store, execution_id)
    if watched:
        await store.executions.watch(execution_id, "somebody")
    await EXITS[how](store, clock, execution_id)
    limits = (LimitRef("budget", "b"), LimitRef.quota("q"))
    assert await said(store, execution_id) == [Release(execution_id, "1", "2", limits)]
    await release(store, execution_id, used="2")
    assert not await admit(store, execution_id)
    found = await store.quotas.get("q")
    assert (found.running, found.in_window, found.waiting) == (0, 0, 0)


async def test_a_holder_that_ends_its_attempt_was_admitted(store: Store) -> None:
    """So nothing needs to be voided."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    _, grant = await lease_one(store, execution_id)
    assert grant.claim is not None
    failure = Failure(type="e", message="m")
    await store.executions.fail(execution_id, grant.claim.lease, failure)
    quotas = (LimitRef.quota("q"),)
    assert await said(store, execution_id) == [Release(execution_id, "1", "1", quotas)]


async def test_what_rules_limit_is_leased_first_as_well(store: Store) -> None:
    """The limits of a rule are those of the execution."""
    await make_quota(store)
    rule = Rule(subject="kind", value="work", limit="quota", id="q")
    await store.rules.set(rule, LimitRef.quota("q"), wanted=True)
    execution_id = await create_one(store)
    assert await is_brief(store, execution_id)
    _, grant = await lease_one(store, execution_id)
    assert grant.limits == "q:q"


async def test_an_execution_after_one_with_limits_gets_none_of_them(store: Store) -> None:
    """What executions of a ready set have in common does not include the limits of the last."""
    await make_quota(store, "q")
    limited, plain = await create_together(store, {"quotas": ("q",)}, {"priority": -1})
    assert not await is_brief(store, plain)
    claims, grants = await store.executions.claim(store.tag_of(limited), wanted())
    assert [grant.execution_id for grant in grants] == [limited]
    assert [(claim.id, claim.quotas) for claim in claims] == [(plain, ())]
