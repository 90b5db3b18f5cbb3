"""Budgets: charged is the sum of accepted charges, once per key, never above the hard limit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.model.budgets import ChargeStatus
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import Call, Status
from tests.chaos.seeded.workload.workload import Dump, Workload, encode

_HARD = 400
_COUNTED = (ChargeStatus.OK, ChargeStatus.SOFT_BREACH, ChargeStatus.ALREADY_APPLIED)


class Budgets(Workload):
    """Two budgets, one under the other, and who charges them: clients and executions."""

    @override
    async def prepare(self, engine: NearEngine) -> None:
        await engine.budgets.create("all", limits={"tokens": {"hard": _HARD}})
        await engine.budgets.create("part", limits={"tokens": {"soft": 50}}, parent="all")

    @override
    async def act(self, engine: Engine, client: str) -> None:
        key = self.new_key(client)
        chance = self.random.random()
        amount = self.random.randint(1, 9)
        usage = {"tokens": amount}
        if chance < 0.3:
            given = {"tokens": amount, "charges": self.random.randint(1, 3)}
            fields: dict[str, Any] = {"id": key, "input": encode(given), "budgets": ("part",)}
            fields |= {"max_reclaims": RECLAIMS, "retry": QUICK, "check": False}
            await self.history.call(
                client, "spender", key, engine.submit("spend", **fields), **given
            )
            return
        budget = self.random.choice(["all", "part"])
        if chance < 0.6:
            for _ in range(self.random.choice([1, 2, 3])):
                work = engine.budgets.report(budget, usage, key=key)
                await self.history.call(client, "charge", key, work, amount=amount, budget=budget)
        else:
            most = {"tokens": amount + 5}
            work = engine.budgets.reserve(budget, most, key=key, ttl_ms=3_600_000)
            await self.history.call(client, "reserve", key, work)
            for _ in range(self.random.choice([1, 2])):
                work = engine.budgets.settle(budget, usage, key=key)
                await self.history.call(client, "charge", key, work, amount=amount, budget=budget)

    @override
    async def finish(self, engine: NearEngine) -> None:
        used = (await engine.budgets.get("all")).usage.get("tokens", 0)
        if used > _HARD:
            self.history.broken.append(f"budget all was charged {used}, above its limit {_HARD}")
        # What waits for more of it must be able to end.
        await engine.budgets.set("all", {"tokens": {"hard": 1_000_000}})

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        charges = self.history.by_key("charge")
        spenders = {key: calls[0].facts for key, calls in self.history.by_key("spender").items()}
        noted: dict[tuple[str, str], int] = {}
        for note in self.ledger.of("charged"):
            noted[note.execution, note.name] = note.value
        for budget, names in (("all", ("all", "part")), ("part", ("part",))):
            used = (await engine.budgets.get(budget)).usage.get("tokens", 0)
            own = [calls for calls in charges.values() if calls[0].facts["budget"] in names]
            least = sum(calls[0].facts["amount"] for calls in own if _counted(calls))
            most = sum(calls[0].facts["amount"] for calls in own if _counted(calls) is not False)
            least += sum(noted.values())
            most += sum(facts["tokens"] * facts["charges"] for facts in spenders.values())
            if not least <= used <= most:
                yield f"budget {budget} was charged {used}, should be {least} to {most}"


def _counted(calls: list[Call]) -> bool | None:
    """Return whether a key was charged; None if nobody knows."""
    if any(call.is_ok and call.answer.status in _COUNTED for call in calls):
        return True
    return None if any(call.status is Status.UNKNOWN for call in calls) else False
