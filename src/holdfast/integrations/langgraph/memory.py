"""A store of LangGraph: what agents remember across threads."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from typing_extensions import override

from holdfast.errors import InvalidInput
from holdfast.integrations.langgraph.connection import Connection, Opening
from holdfast.integrations.langgraph.saver import HoldfastSaver
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.threads import Memory

_MINUTE_MS = 60_000

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class HoldfastStore(BaseStore):
    """Keeps items in namespaces: `HoldfastStore(saver)`, or `HoldfastStore.from_url(URL)`.

    Searches go by namespace and filter, in the order of namespaces and keys; there is no search by
    meaning. Opened by `with` it serves code without an event loop.
    """

    supports_ttl = True

    def __init__(
        self,
        place: HoldfastSaver | Connection,
        *,
        tenant: str | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if isinstance(place, HoldfastSaver):
            tenant = tenant or place.tenant
            place = place.connection
        self.connection: Connection = place
        self.tenant: str = tenant or DEFAULT_TENANT
        self.ttl_config = ttl
        self._memories = self.connection.store.memories

    @classmethod
    def from_url(
        cls, url: str, *, tenant: str = DEFAULT_TENANT, ttl: TTLConfig | None = None
    ) -> Opening[HoldfastStore]:
        """Open the store at a URL."""
        return Opening(url, lambda found: cls(found, tenant=tenant, ttl=ttl))

    @override
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.connection.wait(self.abatch(ops))

    @override
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        given = list(ops)
        # As in the other stores of LangGraph, reads see what was there before the batch, and of
        # several writes to a key the last one counts.
        writes = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        results = await self.connection.run(self._results(given))
        await self.connection.run(_all(map(self._put, writes.values())))
        return results

    async def _results(self, ops: list[Op]) -> list[Result]:
        return list(await asyncio.gather(*map(self._result, ops)))

    async def _result(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = await self._memories.get(
                    self.tenant, op.namespace, op.key, refresh=op.refresh_ttl
                )
                return _item(Item, found) if found else None
            case SearchOp():
                return await self._search(op)
            case ListNamespacesOp():
                return _listed(await self._memories.namespaces(self.tenant), op)
            case _:
                return None

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.query:
            raise InvalidInput("query: HoldfastStore has no search by meaning; use a filter")
        found: list[SearchItem] = []
        searched = self._memories.search(self.tenant, op.namespace_prefix, refresh=op.refresh_ttl)
        async for memory in searched:
            item = _item(SearchItem, memory)
            if _fits(item.value, op.filter or {}):
                found.append(item)
            if len(found) >= op.offset + op.limit:
                break
        return found[op.offset :]

    async def _put(self, op: PutOp) -> None:
        if op.value is None:
            await self._memories.remove(self.tenant, op.namespace, op.key)
            return
        await self._memories.put(
            self.tenant,
            op.namespace,
            op.key,
            msgspec.json.encode(op.value),
            ttl_ms=None if op.ttl is None else round(op.ttl * _MINUTE_MS),
        )


async def _all(work: Iterable[Any]) -> None:
    await asyncio.gather(*work)


def _item(kind: type[Any], memory: Memory) -> Any:
    return kind(
        namespace=memory.namespace,
        key=memory.key,
        value=msgspec.json.decode(memory.value),
        created_at=memory.created_at,
        updated_at=memory.changed_at,
    )


def _fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_compares(value.get(name), condition) for name, condition in wanted.items())


def _compares(value: Any, condition: Any) -> bool:
    """Whether a value is equal to another, or fulfils operators such as $gt."""
    is_condition = isinstance(condition, Mapping) and any(
        str(name).startswith("$") for name in condition
    )
    if not is_condition:
        return bool(value == condition)
    unknown = [name for name in condition if name not in _COMPARE]
    if unknown:
        raise InvalidInput(f"filter: there is no operator {unknown[0]!r}")
    try:
        return all(_COMPARE[name](value, other) for name, other in condition.items())
    except TypeError:
        return False


def _listed(spaces: list[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the namespaces that an operation asks for."""
    matching = (
        space
        for space in spaces
        if all(_matches(space, condition) for condition in op.match_conditions or ())
    )
    cut = dict.fromkeys(space[: op.max_depth] for space in matching)
    return list(cut)[op.offset : op.offset + op.limit]


def _matches(space: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(space) < len(path):
        return False
    start = 0 if condition.match_type == "prefix" else len(space) - len(path)
    part = space[start : start + len(path)]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
