"""Splits: every change is one generation, by one call, and the last one stands."""

from __future__ import annotations

from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.model.deployments import DeploymentRef, Split
from holdfast.model.revisions import Lifecycle
from tests.chaos.seeded.history import Call
from tests.chaos.seeded.workload.workload import Dump, Workload
from tests.support import deployments

_REF = DeploymentRef(env="local", id="talk", tenant="default")


class Splits(Workload):
    """Operators that divide traffic between two revisions, and take it back."""

    @override
    async def prepare(self, engine: NearEngine) -> None:
        await deployments.create(engine.store)
        for revision in ("blue", "green"):
            await deployments.stage(engine.store, _REF, revision, Lifecycle.READY)

    @override
    async def act(self, engine: Engine, client: str) -> None:
        key = self.new_key(client)
        read = await self.history.call(client, "deployment", key, engine.deployments.get(_REF))
        if read is None:
            return
        blue = self.random.randrange(0, 10_001)
        entries = deployments.entries(blue=blue, green=10_000 - blue)
        for _ in range(self.random.choice([1, 1, 2])):
            work = engine.deployments.set_split(
                _REF,
                entries,
                expected_generation=read.split.generation,
                idempotency_key=key,
            )
            await self.history.call(client, "split", key, work, blue=blue)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        calls = [call for call in self.history.of("split") if call.is_ok]
        shares: dict[int, int] = {}
        for call in calls:
            split: Split = call.answer
            if shares.setdefault(split.generation, _blue(split)) != _blue(split):
                yield f"generation {split.generation} has two contents"
            if _blue(split) != call.facts["blue"]:
                yield f"{call.key} set blue to {call.facts['blue']}, and is answered {split}"
        for text in _order(list(self.history.of("split"))):
            yield text
        last = (await engine.deployments.get(_REF)).split
        if last.generation < max(shares, default=0):
            yield f"generation {max(shares)} was acknowledged, and {last.generation} is the last"
        if last.generation in shares and shares[last.generation] != _blue(last):
            yield f"the split of generation {last.generation} has changed: {last}"


def _order(calls: list[Call]) -> list[str]:
    """Return which changes go back; a call that is repeated began with the first of them."""
    began: dict[str, float] = {}
    for call in calls:
        began[call.key] = min(call.began, began.get(call.key, call.began))
    return [
        f"generation {two.answer.generation} came after {one.answer.generation}"
        for one in calls
        for two in calls
        if one.is_ok
        and two.is_ok
        and one.ended < began[two.key]
        and two.answer.generation < one.answer.generation
    ]


def _blue(split: Split) -> int:
    return sum(entry.weight_bps for entry in split.entries if entry.revision == "blue")
