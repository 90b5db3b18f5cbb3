"""Reads: describe, list, count, history, steps, and the facts behind an explanation."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks, records
from holdfast.model.causes import Cause
from holdfast.model.executions import Attempt, Event, Execution, Step
from holdfast.model.listing import MOST_COUNTED, Count, Filter, Page, Total
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.pulse import Pulse
from holdfast.model.states import State
from holdfast.store.causes import gathered
from holdfast.store.domain import Domain
from holdfast.store.executions import open_step

_END_OF_TIME = 1 << 53
#: Executions that one call explains.
_EXPLAINED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainFacts:
    """What explains why an execution is not running: its lane, its place there, its upstreams."""

    now: datetime
    execution: Execution
    #: paused or draining, if the lane is not open.
    lane_setting: str | None
    #: How many executions of its tenant are ready before it, by kind; None if it is not ready.
    ahead: Mapping[str, int] | None
    #: The first of the upstreams that a member of a graph waits for, with their states.
    awaited: Mapping[str, State] = field(default_factory=dict)


class Queries(Domain):
    """Reads of executions."""

    async def describe(self, execution_id: str) -> Execution:
        """Return the description of an execution."""
        tag = self._store.tag_of(execution_id)
        fields, tags, note, last = await self._call.read("hf_execution_describe", tag, execution_id)
        note = self._sealing.open_text(note.decode(), note=execution_id).encode()
        open_error = self._sealing.errors_of(execution_id)
        return records.execution(execution_id, fields, tags, note, last, open_error=open_error)

    async def owner(self, execution_id: str) -> str:
        """Return the tenant that an execution belongs to."""
        tag = self._store.tag_of(execution_id)
        (tenant,) = await self._call.read("hf_execution_owner", tag, execution_id)
        return str(tenant.decode())

    async def input(self, execution_id: str) -> bytes:
        """Return the input in its stored form."""
        tag = self._store.tag_of(execution_id)
        (payload,) = await self._call.read("hf_execution_input", tag, execution_id)
        return bytes(payload)

    async def history(self, execution_id: str) -> list[Event]:
        """Return what happened to it, oldest first."""
        open_error = self._sealing.errors_of(execution_id)
        return records.events(*await self._log(execution_id), open_error)

    async def attempts(self, execution_id: str) -> list[Attempt]:
        """Return its attempts, oldest first."""
        _, packed = await self._log(execution_id)
        return records.attempts(packed, self._sealing.errors_of(execution_id))

    async def past(self, execution_id: str) -> tuple[list[Event], list[Attempt]]:
        """Return what happened to it and its attempts, in one read."""
        open_error = self._sealing.errors_of(execution_id)
        born, packed = await self._log(execution_id)
        return records.events(born, packed, open_error), records.attempts(packed, open_error)

    async def _log(self, execution_id: str) -> tuple[bytes, list[bytes]]:
        tag = self._store.tag_of(execution_id)
        born, packed = await self._call.read("hf_execution_history", tag, execution_id)
        return born, packed

    async def steps(self, execution_id: str) -> list[Step]:
        """Return its journal in the order of recording."""
        tag = self._store.tag_of(execution_id)
        (flat,) = await self._call.read("hf_execution_steps", tag, execution_id)
        return [
            replace(step, result=open_step(self._sealing, execution_id, step.name, step.result))
            for step in records.steps(flat)
        ]

    async def explain_facts(self, execution_id: str) -> ExplainFacts:
        """Return what explains why it is not running."""
        tag = self._store.tag_of(execution_id)
        now, *facts = await self._call.read("hf_execution_explain", tag, execution_id)
        return _facts(now, execution_id, facts)

    async def explain_page(self, ids: Sequence[str]) -> dict[str, ExplainFacts]:
        """Return the same for many, in one call for each partition and hundred of them."""
        by_tag: dict[str, list[str]] = {}
        for one in ids:
            by_tag.setdefault(self._store.tag_of(one), []).append(one)
        replies = await asyncio.gather(
            *(
                self._call.read("hf_execution_explain_all", tag, *own[start : start + _EXPLAINED])
                for tag, own in by_tag.items()
                for start in range(0, len(own), _EXPLAINED)
            )
        )
        return {
            execution_id.decode(): _facts(now, execution_id.decode(), facts)
            for now, *rows in replies
            for execution_id, *facts in rows
        }

    async def pulse(self) -> Pulse:
        """Return the health of all partitions together."""
        replies = await asyncio.gather(
            *(self._call.read("hf_admin_pulse", tag) for tag in self._store.tags())
        )
        waiting_s: dict[str, float] = {}
        incidents: Counter[str] = Counter()
        for now, _, lanes, counts in replies:
            for packed, born in records.pairs(lanes).items():
                lane = packed.decode()
                age_s = max(0, now - int(born) // 1000) / 1000
                waiting_s[lane] = max(age_s, waiting_s.get(lane, 0.0))
            for name, count in records.pairs(counts).items():
                incidents[name.decode()] += int(count)
        late_s = max(late for _, late, *_ in replies) / 1000
        return Pulse(late_s=late_s, waiting_s=waiting_s, incidents=incidents)

    async def count(self, tenant: str | None) -> list[Count]:
        """Return exact counts by tenant, lane, kind and state."""
        replies = await asyncio.gather(
            *(
                self._call.read("hf_execution_count", tag, tenant or "")
                for tag in self._store.tags()
            )
        )
        totals: Counter[tuple[bytes, bytes]] = Counter()
        for flat in replies:
            for owner, cell, count in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
                totals[owner, cell] += count
        counts = []
        for (owner, cell), count in sorted(totals.items()):
            lane, kind, state = cell.decode().split("|")
            counts.append(
                Count(
                    tenant=owner.decode(),
                    lane=lane,
                    kind=kind,
                    state=State(state),
                    count=count,
                )
            )
        return counts

    async def list_executions(self, filters: Filter, limit: int, cursor: str | None) -> Page:
        """Return a page by birth. Changes in the meantime do not invalidate a cursor."""
        place = None if cursor is None else parse_cursor(cursor)
        replies = await asyncio.gather(
            *(
                self._list_in(tag, filters, _range(filters, place, n), limit)
                for n, tag in enumerate(self._store.tags())
            )
        )
        items: list[Execution] = []
        last: _Row | None = None
        for row in heapq.merge(*replies):
            if row.execution is None:
                return Page(items=tuple(items), next_cursor=row.cursor)
            if len(items) == limit:
                return Page(items=tuple(items), next_cursor=last.cursor if last else None)
            items.append(row.execution)
            last = row
        return Page(items=tuple(items), next_cursor=None)

    async def causes(
        self,
        *,
        tenant: str | None,
        kind: str | None,
        since: datetime | None,
        until: datetime | None,
    ) -> list[Cause]:
        """Return why executions that ended in this time failed, the most frequent cause first."""
        arguments = (
            tenant or "",
            kind or "",
            "-inf" if since is None else str(to_ms(since)),
            "+inf" if until is None else f"({to_ms(until)}",
        )
        replies = await asyncio.gather(
            *(self._call.read("hf_execution_causes", tag, *arguments) for tag in self._store.tags())
        )
        return gathered(row for rows in replies for row in rows)

    async def total(self, filters: Filter) -> Total:
        """Return how many executions match, exactly where an index gives it."""
        replies = await asyncio.gather(
            *(
                self._call.read(
                    "hf_execution_total", tag, *_arguments(filters, _range(filters, None, n), 0)
                )
                for n, tag in enumerate(self._store.tags())
            )
        )
        count = sum(count for count, _ in replies)
        if all(exact for _, exact in replies):
            return Total(count=count, exact=True)
        return Total(count=min(count, MOST_COUNTED), exact=False)

    async def _list_in(
        self, tag: str, filters: Filter, births: tuple[int, int], limit: int
    ) -> list[_Row]:
        """Return the rows of one partition, with an empty last row if more may follow."""
        arguments = _arguments(filters, births, limit)
        rows, go_on = await self._call.read("hf_execution_list", tag, *arguments)
        sign = 1 if filters.oldest else -1
        partition = int(tag.rsplit(":", 1)[1].rstrip("}"))
        found = []
        for execution_id, fields, packed_tags in rows:
            execution = records.execution(execution_id.decode(), fields, packed_tags)
            stamp = int(records.pairs(fields)[b"born"])
            found.append(_Row(sign * stamp, partition, 0, execution))
        if go_on:
            found.append(_Row(sign * int(go_on), partition, 1, None))
        return found


@dataclass(order=True, frozen=True, slots=True)
class _Row:
    """A row of a partition's list, in order; an empty one means that more rows follow."""

    age: int
    partition: int
    is_last: int
    execution: Execution | None = field(compare=False)

    @property
    def cursor(self) -> str:
        return f"{abs(self.age)}.{self.partition}"


def _range(filters: Filter, place: tuple[int, int] | None, partition: int) -> tuple[int, int]:
    """Return the births to list in a partition: from the first until before the second.

    Birth stamps are unique in a partition; the partition number decides ties.
    """
    since = _stamp(filters.since) if filters.since else 0
    until = _stamp(filters.until) if filters.until else _END_OF_TIME
    if place is None:
        return since, until
    stamp, last = place
    if filters.oldest:
        return max(since, stamp + (partition <= last)), until
    return since, min(until, stamp + (partition > last))


def _arguments(filters: Filter, births: tuple[int, int], limit: int) -> list[str]:
    """Return the arguments of a search in a partition."""
    name, value = filters.tag or ("", "")
    return [
        filters.tenant or "",
        filters.lane or "",
        filters.kind or "",
        ",".join(filters.every_state),
        name,
        value,
        *(str(birth) for birth in births),
        str(limit),
        filters.graph or "",
        filters.parent or "",
        filters.kind_prefix or "",
        filters.error_type or "",
        filters.id_prefix or "",
        (filters.text or "").lower(),
        "oldest" if filters.oldest else "newest",
    ]


def _stamp(moment: datetime) -> int:
    """Return the smallest birth stamp at or after a moment; stamps have whole ms times 1000."""
    ms = to_ms(moment)
    return (ms if from_ms(ms) == moment else ms + 1) * 1000


def parse_cursor(cursor: str | None) -> tuple[int, int]:
    """Return the birth stamp and the partition to continue after."""
    if cursor is None:
        return _END_OF_TIME, -1
    checks.text("cursor", cursor, bounds.ID_CHARS)
    stamp, _, partition = cursor.partition(".")
    if not (stamp.isdecimal() and partition.isdecimal()):
        message = "cursor: must be one that a list returned"
        raise InvalidInput(message, field="cursor")
    return int(stamp), int(partition)


def _facts(now: int, execution_id: str, facts: Sequence[Any]) -> ExplainFacts:
    fields, lane_setting, ahead, awaited = facts
    return ExplainFacts(
        now=from_ms(now),
        execution=records.execution(execution_id, fields),
        lane_setting=lane_setting.decode() or None,
        ahead=None if ahead == b"" else _counts(ahead),
        awaited={k.decode(): State(v.decode()) for k, v in records.pairs(awaited).items()},
    )


def _counts(flat: Sequence[Any]) -> dict[str, int]:
    return {kind.decode(): int(count) for kind, count in zip(flat[::2], flat[1::2], strict=True)}
