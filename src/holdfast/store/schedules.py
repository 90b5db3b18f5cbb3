"""Schedules: their definitions, their current ticks, and the steps from tick to tick."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from holdfast.errors import HoldfastError, NotFound, PayloadUnreadable, ScheduleNotFound
from holdfast.model import records
from holdfast.model.executions import ExecutionId, NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.model.partitions import ROOT_SEPARATOR
from holdfast.model.schedules import TAG, NewSchedule, Schedule, decode_schedule
from holdfast.model.sealing import is_sealed
from holdfast.model.states import State
from holdfast.store.domain import Domain
from holdfast.store.items import encode_item
from holdfast.store.valkey.call import refusal

_pack, _unpack = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode

#: Stands for an input that is stored beside its plan.
_NO_INPUT = b"null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The step of a schedule from its current tick to the next, firing at most one."""

    start: int
    tick: int
    #: None after the last tick.
    next: int | None
    #: Ticks between `start` and `tick` that are not fired.
    missed: int = 0


class Schedules(Domain):
    """Schedules, each in the partition of its stored id."""

    async def read(self, schedule_id: str) -> tuple[int, Schedule | None]:
        """Return the time of the store in ms, and the schedule if it exists."""
        tag = self._store.tag_of(schedule_id)
        now, *rows = await self._call.read("hf_schedule_read", tag, schedule_id)
        return now, self._open(_schedule(rows[0])) if rows else None

    async def put(self, plan: NewSchedule, version: int | None, next_ms: int | None) -> str:
        """Create a schedule, or replace a version of it: created, replaced, or same."""
        answer, _ = await self._call.write(
            "hf_schedule_put",
            self._store.tag_of(plan.stored_id),
            plan.stored_id,
            new_id(),
            "" if version is None else str(version),
            self._sealing.digests(plan.digest())[0],
            self._encoded(plan),
            plan.execution.tenant,
            "1" if plan.paused else "",
            _text(next_ms),
            _due(plan, next_ms),
        )
        return str(answer.decode())

    async def page(self, after: str, limit: int) -> tuple[list[Schedule], bool]:
        """Return schedules by id, of all partitions, and whether more follow."""
        found = await asyncio.gather(
            *(
                self._call.read("hf_schedule_list", tag, after, str(limit))
                for tag in self._store.tags()
            )
        )
        parts = [([_schedule(row) for row in rows], more) for more, rows in found]
        merged = heapq.merge(
            *(part for part, _ in parts), key=lambda schedule: schedule.plan.stored_id
        )
        # After a truncated part, rows of other partitions may not be the next ones.
        known = min((part[-1].plan.stored_id for part, more in parts if more), default=None)
        complete = [
            schedule for schedule in merged if known is None or schedule.plan.stored_id <= known
        ]
        shown = [self._open(schedule, is_strict=False) for schedule in complete[:limit]]
        return shown, known is not None or len(complete) > limit

    def _encoded(self, plan: NewSchedule) -> bytes:
        """Encode a plan; the executions that it fires get its sealed input as it is."""
        if self._sealing.sealer is None:
            return plan.encode()
        item = plan.execution
        sealed = self._sealing.seal(item.input, "input", item.tenant)
        rest = replace(plan, execution=item.kept_as(_NO_INPUT))
        return _pack({"plan": rest.encode(), "input": sealed})

    def _open(self, schedule: Schedule, *, is_strict: bool = True) -> Schedule:
        """Return a schedule with its input in plain form; in a list, one may be unreadable."""
        item = schedule.plan.execution
        if not is_sealed(item.input):
            return schedule
        try:
            opened = item.kept_as(self._sealing.open(item.input, input=item.tenant))
        except PayloadUnreadable:
            if is_strict:
                raise
            return schedule
        return replace(schedule, plan=replace(schedule.plan, execution=opened))

    async def due(self, tag: str, limit: int) -> tuple[int, list[Schedule]]:
        """Return the time of the store in ms, and the due schedules of a partition.

        Their inputs are in their stored form, so firing them needs no key.
        """
        now, *rows = await self._call.read("hf_schedule_due", tag, str(limit))
        return now, [_schedule(row) for row in rows]

    async def fire(self, schedule: Schedule, steps: Sequence[Step]) -> list[str]:
        """Take steps independently: created, duplicate, skipped, or the code of a refusal."""
        try:
            limits = await self._store.attach(schedule.plan.execution)
        except NotFound as error:
            return [error.code] * len(steps)
        args: list[bytes] = []
        stored_id = schedule.plan.stored_id
        for step in steps:
            fields = {
                "id": stored_id,
                "version": str(schedule.version),
                "from": str(step.start),
                "tick": str(step.tick),
                "next": _text(step.next),
                "due": _due(schedule.plan, step.next),
                "overlap": schedule.plan.overlap,
            }
            if step.missed:
                fields["missed"] = step.missed  # type: ignore[assignment]
            execution_id = f"{stored_id}{ROOT_SEPARATOR}{step.tick}"
            args += self._item(schedule, execution_id, limits, fields)
        tag = self._store.tag_of(stored_id)
        replies = await self._call.write("hf_execution_create", tag, *args)
        return [(rest[0] if word == b"no" else word).decode() for word, *rest in replies]

    async def trigger(self, schedule: Schedule, name: str) -> Submitted:
        """Fire once, outside the ticks; the same name finds the same execution again."""
        stored_id = schedule.plan.stored_id
        execution_id = f"{stored_id}{ROOT_SEPARATOR}{name}"
        fields = {"id": stored_id, "hand": True, "overlap": schedule.plan.overlap}
        tag = self._store.tag_of(stored_id)
        limits = await self._store.attach(schedule.plan.execution)
        args = self._item(schedule, execution_id, limits, fields)
        ((word, *rest),) = await self._call.write("hf_execution_create", tag, *args)
        if word == b"no":
            raise _refusal(rest[0].decode(), schedule, execution_id)
        duplicate = word == b"duplicate"
        state = State(rest[1 if duplicate else 0].decode())
        return Submitted(id=ExecutionId(execution_id), state=state, duplicate=duplicate)

    async def skip(
        self, schedule: Schedule, start: int, next_ms: int | None, missed: int, error: str = ""
    ) -> None:
        """Skip ticks."""
        await self._call.write(
            "hf_schedule_skip",
            self._store.tag_of(schedule.plan.stored_id),
            schedule.plan.stored_id,
            str(schedule.version),
            str(start),
            _text(next_ms),
            _due(schedule.plan, next_ms),
            str(missed),
            error,
        )

    def _item(
        self, schedule: Schedule, execution_id: str, limits: str, step: dict[str, Any]
    ) -> tuple[bytes, bytes]:
        """Return the fields that create.lua reads of an execution fired by a schedule."""
        template = schedule.plan.execution
        payload = self._sealing.seal_once(template.input, "input", template.tenant)
        tags = {**template.tags, TAG: schedule.id}
        if is_sealed(payload):
            # The same input is sealed differently each time, so it is no part of the digest.
            template = template.kept_as(_NO_INPUT)
        item: NewExecution = replace(template, id=execution_id, tags=tags)
        fields = _unpack(encode_item(item, execution_id, limits))
        return _pack({**fields, "schedule": step}), payload

    async def remove(self, schedule_id: str) -> bool:
        """Remove a schedule; returns whether it existed."""
        tag = self._store.tag_of(schedule_id)
        (answer,) = await self._once("hf_schedule_remove", tag, schedule_id)
        return bool(answer == b"removed")


def _refusal(code: str, schedule: Schedule, execution_id: str) -> HoldfastError:
    if code == "schedule_moved":
        return ScheduleNotFound(f"no schedule has the id {schedule.id}", id=schedule.id)
    return refusal(code, {"id": execution_id, "lane": schedule.plan.execution.lane})


def _text(moment_ms: int | None) -> str:
    return "" if moment_ms is None else str(moment_ms)


def _due(plan: NewSchedule, tick: int | None) -> str:
    return "" if tick is None else str(plan.due(tick))


def _plan(packed: bytes, *, paused: bool) -> NewSchedule:
    """Decode a plan; a sealed input stays as it is."""
    values: Mapping[str, Any] = _unpack(packed)
    if "plan" not in values:
        return decode_schedule(packed, paused=paused)
    plan = decode_schedule(values["plan"], paused=paused)
    return replace(plan, execution=plan.execution.kept_as(values["input"]))


def _schedule(row: Sequence[Any]) -> Schedule:
    _, flat, packed, running, queued = row
    record = records.pairs(flat)
    get = record.get
    return Schedule(
        plan=_plan(packed, paused=bool(record[b"paused"])),
        version=int(record[b"version"]),
        next_ms=int(record[b"next"]) if record[b"next"] else None,
        created_at=from_ms(int(record[b"created_at"])),
        changed_at=from_ms(int(record[b"changed_at"])),
        last_ms=int(record[b"last"]) if b"last" in record else None,
        last_execution=records.text(get(b"last_id")),
        fired=int(get(b"count", 0)),
        skipped=int(get(b"skipped", 0)),
        missed=int(get(b"missed", 0)),
        running=running,
        queued=queued,
        error=records.text(get(b"error")),
    )
