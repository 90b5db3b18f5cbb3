"""Short ways through the life of executions with budgets and quotas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.engine import Engine
from holdfast.model.budgets import Charge, NewBudget, Reservation, Usage
from holdfast.model.executions import Claim
from holdfast.model.ids import new_id
from holdfast.model.quotas import NewQuota
from holdfast.store import decode
from holdfast.store.grants import Grant, Wanted
from holdfast.store.store import Store


def wanted(**fields: Any) -> Wanted:
    """Return what a worker of lane `default` asks for."""
    defaults: dict[str, Any] = {
        "request": new_id(),
        "worker": "w1",
        "lanes": ["default"],
        "capabilities": [],
        "limit": 100,
        "lease_ms": 30_000,
    }
    return Wanted(**{**defaults, **fields})


async def claim_as_before(store: Store, tag: str, asked: Wanted) -> tuple[list[Claim], list[Grant]]:
    """Claim as processes of 0.2.0 do: every execution with limits gets a grant, none a lease."""
    lanes, capabilities = ",".join(asked.lanes), ",".join(asked.capabilities)
    who = (asked.request, asked.worker, str(asked.limit), str(asked.lease_ms), asked.tenant or "")
    rows = await store.caller.write("hf_execution_claim_many", tag, *who, lanes, capabilities, "")
    return decode.claims(rows, asked.request, store.sealing)


async def grant_one(store: Store, execution_id: str) -> tuple[Wanted, Grant]:
    """Claim an execution with limits and expect a grant without a lease."""
    asked = wanted(limit=1)
    claims, (grant,) = await claim_as_before(store, store.tag_of(execution_id), asked)
    assert claims == []
    assert grant.claim is None
    assert grant.execution_id == execution_id
    return asked, grant


async def lease_one(store: Store, execution_id: str) -> tuple[Wanted, Grant]:
    """Claim an execution with limits and expect a lease, with its limits to be asked."""
    asked = wanted(limit=1)
    claims, (grant,) = await store.executions.claim(store.tag_of(execution_id), asked)
    assert claims == []
    assert grant.claim is not None
    assert grant.claim.id == grant.execution_id == execution_id
    return asked, grant


async def claim_all(engine: Engine, **fields: Any) -> list[Claim]:
    """Claim in every partition, with admission."""
    claims: list[Claim] = []
    for tag in engine.store.tags():
        found, _ = await engine.admission.claim(tag, wanted(**fields))
        claims += found
    return claims


async def claim_one_limited(engine: Engine, execution_id: str, **fields: Any) -> Claim:
    """Claim an execution with limits and expect that it is admitted."""
    (claim,) = await claim_all(engine, **fields)
    assert claim.id == execution_id
    return claim


async def make_quota(store: Store, quota_id: str = "q", **caps: Any) -> str:
    """Create a quota of one slot, unless the caps say otherwise."""
    await store.quotas.create(NewQuota(id=quota_id, **(caps or {"max_concurrent": 1})))
    return quota_id


async def make_budget(store: Store, budget_id: str = "b", hard: int = 100, **fields: Any) -> str:
    """Create a budget of so many tokens."""
    limits = fields.pop("limits", {"tokens": {"hard": hard}})
    await store.budgets.create(NewBudget(id=budget_id, limits=limits, **fields))
    return budget_id


async def admit(
    store: Store, execution_id: str, epoch: int = 1, quotas: Sequence[str] = ("q",)
) -> bool:
    """Ask quotas that share a partition; returns whether they admit."""
    tag = store.quota_tag(quotas[0])
    (answer,) = await store.quotas.admit(tag, new_id(), [(execution_id, epoch, quotas)])
    return answer is None


async def release(
    store: Store,
    execution_id: str,
    epoch: int = 1,
    quotas: Sequence[str] = ("q",),
    *,
    used: str = "1",
) -> list[bytes]:
    """Give an admission back; returns what the quota has to tell."""
    tag = store.quota_tag(quotas[0])
    item = (execution_id, str(epoch), used, quotas)
    return await store.quotas.release(tag, [item])


def woken(entries: Sequence[bytes]) -> list[str]:
    """Return the executions that entries of an outbox wake, in order."""
    return [entry.decode().split("\n")[1] for entry in entries]


async def report(store: Store, tokens: int, key: str | None = None, budget: str = "b") -> Charge:
    """Charge tokens."""
    return await store.budgets.report(budget, {"tokens": tokens}, key)


async def reserve(
    store: Store,
    tokens: int,
    key: str = "k",
    ttl_ms: int = 10_000,
    budget: str = "b",
    *,
    asker: str = "",
) -> Reservation:
    """Reserve tokens."""
    return await store.budgets.reserve(budget, {"tokens": tokens}, key, ttl_ms, asker=asker)


async def settle(store: Store, tokens: int, key: str = "k", budget: str = "b") -> Charge:
    """Settle tokens."""
    return await store.budgets.settle(budget, {"tokens": tokens}, key)


async def standing(store: Store, budget: str = "b") -> tuple[Usage, Usage]:
    """Return what is used and what is reserved."""
    found = await store.budgets.get(budget)
    return found.usage, found.reserved
