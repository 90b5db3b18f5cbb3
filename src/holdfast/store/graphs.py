"""Graphs; each transition is one call of one function; a large graph is staged first."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holdfast.errors import IdConflict, IdempotencyConflict, StagingLost
from holdfast.model import bonds, names, records
from holdfast.model.executions import Event, ExecutionId, Passed
from holdfast.model.graphs import (
    CancelPolicy,
    Edge,
    Graph,
    GraphState,
    Join,
    Member,
    NewGraph,
    On,
    Shape,
    member_id,
)
from holdfast.model.ids import id_of_key, new_id
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store import decode
from holdfast.store.domain import Domain
from holdfast.store.executions import BYTES_IN_CALL
from holdfast.store.items import item_fields

#: A staged graph that is not created this long after its last chunk is removed.
STAGING_TTL_MS = 60_000
#: The members that one call may carry, and the edges.
MEMBERS_IN_CALL = 100
EDGES_IN_CALL = 2_000
MEMBERS_IN_PAGE = 1_000

_CHUNKS_UNDER_WAY = 4
_TRIES = 3

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode

_MARKS = {On.SUCCESS: "s", On.FAILURE: "f", On.ALWAYS: "a"}
_ONS = {mark: on for on, mark in _MARKS.items()}
#: The join of most members.
_ALL = Join()


class _Edges:
    """The edges of a shape by their ends, in the form that lib/graph/members.lua reads."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.outs: dict[str, list[str]] = {}
        self.ins: dict[str, list[str]] = {}
        self.hears: set[str] = set()
        self.takes: set[str] = set()
        for edge in edges:
            mark = _MARKS[On(edge.on)]
            self.outs.setdefault(edge.source, []).extend((edge.target, mark))
            self.ins.setdefault(edge.target, []).extend((edge.source, mark, edge.input or ""))
            if edge.on != On.SUCCESS:
                self.hears.add(edge.target)
            if edge.input:
                self.takes.add(edge.target)

    def fields(self, key: str, join: Join) -> dict[str, object]:
        """Return the fields of a member's record that describe its edges."""
        fields: dict[str, object] = {}
        if key in self.outs:
            fields["outs"] = self.outs[key]
        if key in self.ins:
            count = len(self.ins[key]) // 3
            fields |= {"inns": self.ins[key], "ins": count, "need": join.need(count)}
            flags = {
                "lax": join.is_lax,
                "losers": join.losers == "cancel",
                "hears": key in self.hears,
                "inputs": key in self.takes,
            }
            fields |= {name: 1 for name, is_set in flags.items() if is_set}
        return fields


def graph_id_of_key(tenant: str, key: str) -> str:
    """Return the id that an idempotency key stands for."""
    return "g" + id_of_key(tenant, key)


class Graphs(Domain):
    """Transitions and reads of graphs."""

    async def create(self, new: NewGraph) -> tuple[str, int, bool]:
        """Create a graph completely or not at all; returns id, version, whether it existed."""
        graph_id = new.id and names.stored_id(new.tenant, new.id)
        if graph_id is None and new.idempotency_key is not None:
            graph_id = graph_id_of_key(new.tenant, new.idempotency_key)
        graph_id = graph_id or f"g{new_id()}"
        digest, *older = self._sealing.digests(new.digest())
        fields: dict[str, object] = {
            "tenant": new.tenant,
            "digest": digest,
            "nonce": new_id(),
            "members": len(new.shape.members),
        }
        optional = {
            "key": new.idempotency_key,
            "deadline": new.deadline_ms,
            "keep": new.retention_ms,
            "budgets": ",".join(new.budgets) or None,
            "on_end": new.on_end,
            "bond": bonds.bond(new.on_parent_end, new.id),
        }
        fields |= {name: value for name, value in optional.items() if value is not None}
        chunks = self._chunks(graph_id, new.shape, await self._attach(new.shape))
        is_small = len(chunks) == 1 and len(new.shape.edges) <= EDGES_IN_CALL
        while True:
            try:
                if is_small:
                    word, version = await self._create(graph_id, fields, chunks[0])
                else:
                    word, version = await self._create_staged(graph_id, fields, chunks)
            except (IdConflict, IdempotencyConflict):
                # It may have been created before the codec or the key.
                if not older:
                    raise
                fields["digest"] = older.pop(0)
            else:
                return graph_id, int(version), word == b"duplicate"

    def _chunks(self, graph_id: str, shape: Shape, limits: Mapping[str, str]) -> list[list[bytes]]:
        """Return the packed members, split into calls of bounded size."""
        edges = _Edges(shape.edges)
        chunks: list[list[bytes]] = [[]]
        size = 0
        for key, item in shape.members.items():
            fields = item_fields(item, member_id(graph_id, key), limits.get(key, ""))
            more = edges.fields(key, _join(shape, key))
            packed = _pack({**fields, "graph": graph_id, **more})
            payload = self._sealing.seal_once(item.input, "input", item.tenant)
            size += len(packed) + len(payload)
            if len(chunks[-1]) == 2 * MEMBERS_IN_CALL or (chunks[-1] and size > BYTES_IN_CALL):
                chunks.append([])
                size = len(packed) + len(payload)
            chunks[-1] += (packed, payload)
        return chunks

    async def _attach(self, shape: Shape) -> dict[str, str]:
        """Return the limits of members that name any; raises NotFound."""
        return {
            key: await self._store.attach(item)
            for key, item in shape.members.items()
            if item.budgets or item.quotas
        }

    async def _create(
        self, graph_id: str, fields: Mapping[str, object], items: Sequence[bytes]
    ) -> list[Any]:
        tag = self._store.tag_of(graph_id)
        return await self._call.write("hf_graph_create", tag, graph_id, _pack(fields), *items)

    async def _create_staged(
        self, graph_id: str, fields: Mapping[str, object], chunks: Sequence[Sequence[bytes]]
    ) -> list[Any]:
        tag, digest = self._store.tag_of(graph_id), str(fields["digest"])
        room = asyncio.Semaphore(_CHUNKS_UNDER_WAY)

        async def stage(items: Sequence[bytes]) -> None:
            async with room:
                ttl_ms = str(STAGING_TTL_MS)
                await self._call.write("hf_graph_stage", tag, graph_id, digest, ttl_ms, *items)

        for tried in range(1, _TRIES + 1):
            await asyncio.gather(*(stage(chunk) for chunk in chunks))
            try:
                return await self._create(graph_id, {**fields, "staged": 1}, ())
            except StagingLost:
                if tried == _TRIES:
                    raise
        raise AssertionError

    async def extend(self, graph_id: str, version: int, shape: Shape) -> int:
        """Add members and edges to a graph of this version; returns the next one."""
        items = [
            part
            for chunk in self._chunks(graph_id, shape, await self._attach(shape))
            for part in chunk
        ]
        links = [
            part
            for edge in shape.edges
            if edge.source not in shape.members or edge.target not in shape.members
            for part in (edge.source, _MARKS[On(edge.on)], edge.input or "", edge.target)
        ]
        (reached,) = await self._call.write(
            "hf_graph_extend",
            self._store.tag_of(graph_id),
            graph_id,
            new_id(),
            str(version),
            _pack(links),
            *items,
        )
        return int(reached)

    async def cancel(self, graph_id: str, policy: CancelPolicy, reason: str) -> int:
        """Cancel a graph; returns how many members have ended through it so far."""
        tag = self._store.tag_of(graph_id)
        (cancelled,) = await self._call.write(
            "hf_graph_cancel", tag, graph_id, new_id(), policy, reason
        )
        return int(cancelled)

    async def replay(self, graph_id: str, reason: str) -> None:
        """Run the failed part of a graph again."""
        tag = self._store.tag_of(graph_id)
        await self._call.write("hf_graph_replay", tag, graph_id, new_id(), reason)

    async def watch(self, graph_id: str, process: str) -> tuple[GraphState, bool, bool]:
        """Return the state, whether it has ended, and whether the store still has work for it.

        If it has not ended, the store notifies `process` when it has, and when a cancel is done.
        """
        tag = self._store.tag_of(graph_id)
        state, ended, busy = await self._call.write("hf_graph_watch", tag, graph_id, process)
        return GraphState(state.decode()), bool(ended), bool(busy)

    async def outcome(
        self, graph_id: str, process: str
    ) -> tuple[GraphState, list[Passed] | None] | None:
        """Return how it ended, and what its leaves returned if it completed and is not large.

        None if it has not ended: the store notifies `process` when it has.
        """
        tag = self._store.tag_of(graph_id)
        state, ended, *rows = await self._call.write("hf_graph_outcome", tag, graph_id, process)
        if not ended:
            return None
        leaves = [decode.passed(self._sealing, *row) for row in rows[0]] if rows else None
        return GraphState(state.decode()), leaves

    async def describe(self, graph_id: str) -> tuple[Graph, list[Event]]:
        """Return the graph without its members, and its history."""
        tag = self._store.tag_of(graph_id)
        flat, packed = await self._call.read("hf_graph_describe", tag, graph_id)
        graph = _graph(graph_id, flat)
        events = [Event(at=graph.created_at, event="created", data={})]
        for values in map(records.entry, packed):
            data = {k: v for k, v in values.items() if k not in {"at", "event", "request"}}
            events.append(Event(at=from_ms(values["at"]), event=values["event"], data=data))
        return graph, events

    async def members(self, graph_id: str) -> tuple[int, dict[str, Member]]:
        """Return the version and the members, in the order of their creation."""
        tag = self._store.tag_of(graph_id)
        members_by_key: dict[str, Member] = {}
        while True:
            version, rows = await self._call.read(
                "hf_graph_members", tag, graph_id, str(len(members_by_key)), str(MEMBERS_IN_PAGE)
            )
            for row in rows:
                member = _member(graph_id, row)
                members_by_key[member.key] = member
            if len(rows) < MEMBERS_IN_PAGE:
                return int(version), members_by_key

    async def page_in(
        self, tag: str, tenant: str | None, state: str | None, before: int, limit: int
    ) -> tuple[list[tuple[int, Graph]], bool]:
        """Return graphs of one partition with stamps, newest first, and whether more follow."""
        rows, more = await self._call.read(
            "hf_graph_list", tag, tenant or "", state or "", str(before), str(limit)
        )
        graphs = [
            (int(records.pairs(flat)[b"born"]), _graph(graph_id.decode(), flat))
            for graph_id, flat in rows
        ]
        return graphs, bool(more)


def _join(shape: Shape, key: str) -> Join:
    return shape.joins.get(key) or _ALL


def _graph(graph_id: str, flat: Sequence[bytes]) -> Graph:
    record = records.pairs(flat)
    get = record.get
    policy = records.text(get(b"cancel"))
    ended = records.moment(get(b"ended"))
    return Graph(
        id=graph_id,
        tenant=record[b"tenant"].decode(),
        state=GraphState(record[b"state"].decode()),
        version=int(record[b"revision"]),
        size=int(record[b"members"]),
        open=int(record[b"open"]),
        failures=int(get(b"bad", 0)),
        budgets=records.names(get(b"budgets")),
        created_at=records.born(record),
        completed_at=ended,
        deadline_at=records.moment(get(b"deadline")),
        forget_at=records.moment(get(b"due")) if ended else None,
        replays=int(get(b"replays", 0)),
        idempotency_key=records.text(get(b"key")),
        cancel_policy=CancelPolicy(policy) if policy else None,
        reason=records.text(get(b"reason")) or None,
        cancelled=int(get(b"cancelled", 0)),
        parent=(parent := records.parent_of_graph(graph_id)),
        on_parent_end=None if parent is None else records.text(get(b"bond")) or "keep",
    )


def _member(graph_id: str, row: Sequence[bytes]) -> Member:
    row_id, kind, state, lax, need, losers, spared, packed = row
    execution_id = row_id.decode()
    key = execution_id[len(graph_id) + 1 :]
    flat: list[str] = _unpack(packed) if packed else []
    edges = [
        Edge(source=source, target=key, on=_ONS[mark], input=name or None)
        for source, mark, name in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    ]
    kept = "cancel" if losers else "keep"
    join = _ALL
    if lax:
        any_of = int(need) == 1
        join = Join.any(losers=kept) if any_of else Join.quorum(int(need), losers=kept)
    return Member(
        key=key,
        id=ExecutionId(execution_id),
        kind=kind.decode(),
        state=State(state.decode()),
        join=join,
        spared=bool(spared),
        edges=edges,
    )
