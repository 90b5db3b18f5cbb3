"""Quotas: no more run than the limit, and nothing leaks."""

from __future__ import annotations

from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import happened
from tests.chaos.seeded.workload.workload import UNENDED, Dump, Workload, completed, encode, records

_MOST = 2


class Quotas(Workload):
    """Executions under a quota, and a look at it now and then."""

    @override
    async def prepare(self, engine: NearEngine) -> None:
        await engine.quotas.create("slots", max_concurrent=_MOST)

    @override
    async def act(self, engine: Engine, client: str) -> None:
        if self.random.random() < 0.2:
            await self.history.call(client, "look", "slots", engine.quotas.get("slots"))
            return
        key = self.new_key(client)
        given = {"pause_ms": self.random.choice([0, 5, 40])}
        fields = {"id": key, "input": encode(given), "quotas": ("slots",), "retry": QUICK}
        work = engine.submit("limited", **fields, lane="limited", max_reclaims=RECLAIMS)
        await self.history.call(client, "limited", key, work)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        found = records(dump)
        limited = self.history.by_key("limited")
        problems = {key: completed(found.get(key)) for key in limited}
        for key, calls in limited.items():
            if happened(calls) and problems[key]:
                yield f"execution {key} {problems[key]}"
        for call in self.history.of("look"):
            if call.is_ok and call.answer.running > _MOST:
                yield f"the quota had {call.answer.running} of {_MOST}"
        left = (await engine.quotas.get("slots")).running
        if left and not any(problem and UNENDED in problem for problem in problems.values()):
            yield f"the quota still holds {left} slots"
