"""Short ways through the life of a graph, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.model.calls import Completion
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.graphs import Edge, Join, On, member_id
from holdfast.store.store import Store
from tests.support.lifecycle import claim_in

_ONS = {">": On.SUCCESS, "!": On.FAILURE, "*": On.ALWAYS}


_CLAIMED: WeakKeyDictionary[Store, dict[str, Claim]] = WeakKeyDictionary()


def edges(*texts: str) -> list[Edge]:
    """Return edges: `a>b` on success, `a!b` on failure, `a*b` always; `a>b:x` passes an input."""
    made = []
    for text in texts:
        sign = next(sign for sign in _ONS if sign in text)
        source, _, rest = text.partition(sign)
        target, _, name = rest.partition(":")
        made.append(Edge(source=source, target=target, on=_ONS[sign], input=name or None))
    return made


def members(keys: Iterable[str], **fields: Any) -> dict[str, NewExecution]:
    """Return members of kind `work`."""
    return {key: NewExecution(**{"kind": "work", **fields}) for key in keys}


class GraphRun:
    """A graph of kind `work` in a store, driven by hand."""

    def __init__(self, store: Store, graph_id: str) -> None:
        self.store = store
        self.id = graph_id
        self.tag = store.tag_of(graph_id)
        self.held: dict[str, Claim] = {}

    async def claim(self, limit: int = 1000) -> dict[str, Claim]:
        """Claim what is ready; returns all that is held, by key."""
        # Members of other graphs may be among them, for their own runs to find.
        found = _CLAIMED.setdefault(self.store, {})
        for claim in await claim_in(self.store, self.tag, limit=limit):
            found[claim.id] = claim
        for claim_id in [name for name in found if name.startswith(f"{self.id}~")]:
            self.held[claim_id[len(self.id) + 1 :]] = found.pop(claim_id)
        return self.held

    async def complete(self, *keys: str, result: bytes = b"1") -> None:
        """Complete members, which must be ready or held."""
        for key in keys:
            claim = (await self.claim()).pop(key)
            await self.store.executions.complete(claim.id, claim.lease, result)

    async def complete_together(self, *keys: str, result: bytes = b"1") -> str:
        """Complete members in one call; returns `ok` or the code of the refusal of each."""
        held = await self.claim()
        claims = [held.pop(key) for key in keys]
        items = [Completion(claim.id, claim.lease, result) for claim in claims]
        answers = await self.store.executions.complete_many(items)
        return " ".join("ok" if answer is None else answer.code for answer in answers)

    async def fail(self, *keys: str) -> None:
        """Fail members for good."""
        for key in keys:
            claim = (await self.claim()).pop(key)
            failure = Failure(type="e", message="m")
            await self.store.executions.fail(claim.id, claim.lease, failure)

    async def cancel(self, *keys: str) -> None:
        """Cancel members."""
        for key in keys:
            self.held.pop(key, None)
            await self.store.executions.cancel(member_id(self.id, key), "")

    async def end(self, key: str, how: str) -> None:
        """End a member in one way or another."""
        await {"completed": self.complete, "failed": self.fail, "cancelled": self.cancel}[how](key)

    async def states(self, *keys: str) -> str:
        """Return the states of members, in one string."""
        _, found = await self.store.graphs.members(self.id)
        return " ".join(str(found[key].state) for key in keys or found)

    async def state(self) -> str:
        """Return the state of the graph; with a `+` while members of a cancelled one are open."""
        graph, _ = await self.store.graphs.describe(self.id)
        return (
            str(graph.state)
            if graph.completed_at or graph.state == "running"
            else f"{graph.state}+"
        )


async def submit(
    store: Store,
    keys: str | Iterable[str] | Mapping[str, NewExecution],
    *texts: str,
    joins: Mapping[str, Join] | None = None,
    more: Sequence[Edge] = (),
    **fields: Any,
) -> GraphRun:
    """Submit a graph; keys are words of a string, members, or a list."""
    if isinstance(keys, str):
        keys = keys.split()
    made = keys if isinstance(keys, Mapping) else members(keys)
    answer = await Graphs(store, Payloads(store)).submit(
        made, [*edges(*texts), *more], joins, **fields
    )
    return GraphRun(store, answer.id)
