"""Queues in both modes: nothing is lost, nothing is acknowledged twice, attempts are bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.model.deliveries import Delivery
from holdfast.model.messages import NewMessage, Pushed
from holdfast.model.queues import GroupStats
from tests.chaos.seeded.history import Call, Status, happened
from tests.chaos.seeded.workload.workload import Dump, Workload

_ATTEMPTS = 4
_LOCK_MS = 400
_GROUPS = {"jobs": ("default",), "news": ("a", "b")}


class Queues(Workload):
    """A work queue with dead letters, and a fanout queue with two groups."""

    queues = ("jobs", "news", "dead")

    @override
    async def prepare(self, engine: NearEngine) -> None:
        await engine.queues.define("dead")
        fields: dict[str, Any] = {
            "max_attempts": _ATTEMPTS,
            "lock_ms": _LOCK_MS,
            "dead_letter": "dead",
        }
        await engine.queues.define("jobs", **fields, dedup_window_ms=86_400_000)
        await engine.queues.define("news", **fields, mode="fanout", dedup_window_ms=86_400_000)
        for group in _GROUPS["news"]:
            await engine.queues.add_group("news", group)

    @override
    async def act(self, engine: Engine, client: str) -> None:
        queue = self.random.choice(["jobs", "news"])
        if self.random.random() < 0.5:
            await self._push(engine, client, queue)
        else:
            await self._consume(engine, client, queue, self.random.choice(_GROUPS[queue]))

    async def _push(self, engine: Engine, client: str, queue: str) -> None:
        keys = [self.new_key(client) for _ in range(self.random.randint(1, 4))]
        delay_ms = self.random.choice([0, 0, 0, 50])
        items = [NewMessage(payload=key.encode(), id=key, delay_ms=delay_ms) for key in keys]
        for _ in range(self.random.choice([1, 1, 2])):
            await self.history.call(
                client,
                "push",
                keys[0],
                engine.queues.push_many(queue, items),
                queue=queue,
                keys=keys,
            )

    async def _consume(self, engine: Engine, client: str, queue: str, group: str) -> None:
        reading = engine.queues.read(
            queue, consumer=client, group=None if queue == "jobs" else group, count=3
        )
        deliveries = await self.history.call(client, "read", queue, reading, group=group)
        for delivery in deliveries or ():
            await self._settle(engine, client, queue, group, delivery)

    async def _settle(
        self, engine: Engine, client: str, queue: str, group: str, delivery: Delivery
    ) -> None:
        key = f"{queue}/{group}/{delivery.message.id}"
        chance = self.random.random()
        if chance < 0.7:
            for _ in range(self.random.choice([1, 1, 2])):
                work = engine.queues.ack(queue, delivery.handle)
                await self.history.call(client, "ack", key, work, handle=delivery.handle)
        elif chance < 0.85:
            work = engine.queues.nack(queue, delivery.handle, delay_ms=10)
            await self.history.call(client, "nack", key, work)

    @override
    async def finish(self, engine: NearEngine) -> None:
        """Consume until nothing is left, as a consumer that never fails."""
        for queue, groups in _GROUPS.items():
            for group in groups:
                while await self._left(engine, queue, group):
                    read = await engine.queues.read(
                        queue,
                        consumer="finish",
                        group=None if queue == "jobs" else group,
                        count=100,
                        wait_ms=100,
                    )
                    for delivery in read:
                        key = f"{queue}/{group}/{delivery.message.id}"
                        work = engine.queues.ack(queue, delivery.handle)
                        await self.history.call("finish", "ack", key, work, handle=delivery.handle)
                    await engine.store.queues.tick(queue, 100)

    @staticmethod
    async def _left(engine: Engine, queue: str, group: str) -> int:
        stats = (await engine.queues.stats(queue)).groups[group]
        return stats.ready + stats.delayed + stats.in_flight

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        for queue, groups in _GROUPS.items():
            pushes = [call for call in self.history.of("push") if call.facts["queue"] == queue]
            known, maybe = _pushed(pushes)
            stats = await engine.queues.stats(queue)
            for group in groups:
                own = stats.groups[group]
                for text in _judge_stats(own, known, maybe):
                    yield f"{queue}/{group}: {text}"
                acks = self.history.by_key("ack")
                acked = {
                    key.rsplit("/", 1)[1]: calls
                    for key, calls in acks.items()
                    if key.startswith(f"{queue}/{group}/")
                }
                for text in _judge_acks(own, acked):
                    yield f"{queue}/{group}: {text}"
                for text in self._judge_reads(queue, group):
                    yield text

    def _judge_reads(self, queue: str, group: str) -> list[str]:
        seen: Counter[str] = Counter()
        for call in self.history.of("read"):
            if call.key == queue and call.facts["group"] == group and call.is_ok:
                seen.update(delivery.message.id for delivery in call.answer)
        return [
            f"{queue}/{group}: message {key} was delivered {count} times"
            for key, count in seen.items()
            if count > _ATTEMPTS
        ]


def _pushed(calls: list[Call]) -> tuple[set[str], set[str]]:
    """Return which messages were pushed, and which perhaps were."""
    known: set[str] = set()
    maybe: set[str] = set()
    for call in calls:
        if call.is_ok:
            answers = zip(call.facts["keys"], call.answer, strict=True)
            known |= {key for key, answer in answers if isinstance(answer, Pushed)}
        elif call.status is Status.UNKNOWN:
            maybe |= set(call.facts["keys"])
    return known, maybe - known


def _judge_stats(stats: GroupStats, known: set[str], maybe: set[str]) -> list[str]:
    problems = []
    if not len(known) <= stats.pushed <= len(known | maybe):
        problems.append(f"{len(known)} pushed, perhaps {len(maybe)} more, but counts {stats}")
    places = stats.ready + stats.delayed + stats.in_flight + stats.acked + stats.dead
    if stats.pushed != places + stats.dropped + stats.expired + stats.purged:
        problems.append(f"counts do not add up: {stats}")
    return problems


def _judge_acks(stats: GroupStats, acks: dict[str, list[Call]]) -> list[str]:
    problems = []
    for key, calls in acks.items():
        handles = {call.facts["handle"] for call in calls if call.is_ok}
        if len(handles) > 1:
            problems.append(f"message {key} was acknowledged under two handles")
    sure = sum(happened(calls) is True for calls in acks.values())
    most = sum(happened(calls) is not False for calls in acks.values())
    if not sure <= stats.acked <= most:
        problems.append(f"{sure} to {most} acks, but counts {stats}")
    return problems
