"""Schedules: a tick creates one execution, and a trigger one for each key."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.errors import NotFound
from holdfast.model.executions import NewExecution
from holdfast.model.schedules import NewSchedule
from holdfast.model.timing import Timing
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.workload.workload import Dump, Workload, completed, encode, records


class Schedules(Workload):
    """A schedule that fires often, triggered besides, paused and resumed."""

    @override
    async def prepare(self, engine: NearEngine) -> None:
        template = NewExecution(
            kind="tick", input=encode({}), retry=QUICK, max_reclaims=RECLAIMS, check=False
        )
        plan = NewSchedule(
            id="often",
            execution=template,
            timing=Timing(every_ms=1_000),
            catch_up="all",
            catch_up_limit=5,
        )
        await engine.schedules.create(plan)

    @override
    async def act(self, engine: Engine, client: str) -> None:
        if self.random.random() < 0.1:
            paused = self.random.random() < 0.5
            work = engine.schedules.update("often", {"paused": paused})
            await self.history.call(client, "pause", "often", work)
            return
        key = self.new_key(client)
        for _ in range(self.random.choice([1, 2, 3])):
            await self.history.call(
                client, "trigger", key, engine.schedules.trigger("often", key=key)
            )

    @override
    async def finish(self, engine: NearEngine) -> None:
        # It may have been deleted by a call whose answer was lost.
        with contextlib.suppress(NotFound):
            await engine.schedules.delete("often")

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        found = records(dump)
        ids: Counter[str] = Counter()
        for key, calls in self.history.by_key("trigger").items():
            made = {call.answer.id for call in calls if call.is_ok}
            ids.update(made)
            if len(made) > 1:
                yield f"the trigger {key} created {made}"
            for one in made:
                if problem := completed(found.get(one)):
                    yield f"the trigger {key} was acknowledged, and {one} {problem}"
        for one, count in ids.items():
            if count > 1:
                yield f"{one} is of {count} triggers"
