"""Graphs: members run in the order of the edges, and every graph ends."""

from __future__ import annotations

from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.model.executions import NewExecution
from holdfast.model.graphs import Edge, GraphState
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import happened
from tests.chaos.seeded.workload.workload import UNENDED, Dump, Workload, encode


class Graphs(Workload):
    """Graphs of a few members."""

    @override
    async def act(self, engine: Engine, client: str) -> None:
        key = self.new_key(client)
        names = [f"m{n}" for n in range(self.random.randint(2, 5))]
        member = NewExecution(
            kind="member", input=encode({}), retry=QUICK, max_reclaims=RECLAIMS, check=False
        )
        pairs = [(a, b) for n, a in enumerate(names) for b in names[n + 1 :]]
        edges = self.random.sample(pairs, k=self.random.randint(0, len(pairs)))
        for _ in range(self.random.choice([1, 1, 2])):
            await self.history.call(
                client,
                "graph",
                key,
                engine.graphs.submit(
                    dict.fromkeys(names, member),
                    [Edge(source=a, target=b) for a, b in edges],
                    idempotency_key=key,
                ),
                edges=edges,
                names=names,
            )

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        ended = {note.execution: note.at for note in self.ledger.of("done")}
        began: dict[str, float] = {}
        for note in self.ledger.of("began"):
            began.setdefault(note.execution, note.at)
        for key, calls in self.history.by_key("graph").items():
            ids = {call.answer.id for call in calls if call.is_ok}
            if len(ids) > 1:
                yield f"graph {key} was created twice: {ids}"
            if not happened(calls):
                continue
            view = await engine.graphs.describe(ids.pop())
            if view.graph.state is GraphState.RUNNING:
                yield f"graph {key} {UNENDED}"
            elif view.graph.state is not GraphState.COMPLETED:
                yield f"graph {key} is {view.graph.state}"
            members = {name: member.id for name, member in view.members.items()}
            if sorted(members) != calls[0].facts["names"]:
                yield f"graph {key} has the members {sorted(members)}"
            for source, target in calls[0].facts["edges"]:
                one, two = members[source], members[target]
                if began.get(two, 0.0) < ended.get(one, 0.0) and two in began:
                    yield f"graph {key}: {target} began before {source} had ended"
