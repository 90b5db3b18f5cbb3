"""Streams: frames in order, each once for an attempt, and none that was acknowledged is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.errors import NotFound
from holdfast.model.frames import Frame
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import happened
from tests.chaos.seeded.workload.workload import Dump, Workload, encode


class Streams(Workload):
    """Executions that stream numbers."""

    @override
    async def act(self, engine: Engine, client: str) -> None:
        key = self.new_key(client)
        fields = {"id": key, "input": encode({"frames": self.random.randint(1, 12)})}
        work = engine.submit("talk", **fields, max_reclaims=RECLAIMS, retry=QUICK)
        await self.history.call(client, "talk", key, work)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        flushed: dict[str, set[int]] = defaultdict(set)
        for note in self.ledger.of("flushed"):
            flushed[note.execution].add(note.value)
        for key, calls in self.history.by_key("talk").items():
            try:
                page = await engine.streams.read(key, limit=1000)
            except NotFound:
                if happened(calls):
                    yield f"execution {key} was acknowledged and is lost"
                continue
            for text in _judge(page.frames, flushed[key]):
                yield f"stream {key} {text}"


def _judge(frames: Sequence[Frame], flushed: set[int]) -> Iterator[str]:
    ids = [frame.id for frame in frames]
    if ids != list(range(1, len(ids) + 1)):
        yield f"has the frames {ids}"
    # After an `attempt` frame, an attempt starts from the beginning.
    runs: list[list[int]] = [[]]
    for frame in frames:
        if frame.type == "attempt":
            runs.append([])
        elif frame.type == "json":
            runs[-1].append(frame.json()["n"])
    for run in runs:
        if run != list(range(len(run))):
            yield f"has {run} in one attempt"
    if max(map(len, runs)) <= max(flushed, default=-1):
        yield f"lacks frames: {runs}, flushed {sorted(flushed)}"
