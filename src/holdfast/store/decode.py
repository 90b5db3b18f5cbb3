"""From replies to values: the only place that knows how a record is laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from holdfast.model.executions import (
    Attempt,
    Claim,
    Event,
    Execution,
    ExecutionId,
    Lease,
    Step,
)
from holdfast.model.moments import from_ms
from holdfast.model.states import AttemptKind, Hold, State

Record = Mapping[bytes, bytes]

_unpack = msgspec.msgpack.Decoder().decode
_parse_json = msgspec.json.Decoder().decode


def pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return name, value pairs as a mapping."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def text(value: bytes | None) -> str | None:
    """Decode text that may be absent."""
    return value.decode() if value is not None else None


def names(value: bytes | None) -> tuple[str, ...]:
    """Decode comma separated names."""
    return tuple(value.decode().split(",")) if value else ()


def moment(value: bytes | None) -> datetime | None:
    """Decode a time in ms that may be absent."""
    return from_ms(int(value)) if value is not None else None


def born(record: Record) -> datetime:
    """Return the time of creation, from the birth stamp in us."""
    return from_ms(int(record[b"born"]) // 1000)


def tags(packed: bytes) -> dict[str, str]:
    """Decode tags: a flat list of names and values."""
    flat = _unpack(packed) if packed else []
    return dict(zip(flat[::2], flat[1::2], strict=True))


def claim(row: Sequence[Any], lease_id: str) -> Claim:
    """Decode one claim."""
    execution_id, fields, payload, packed_tags, journal = row
    record = pairs(fields)
    attempt = int(record[b"attempts"]) - 1
    get = record.get
    return Claim(
        id=ExecutionId(execution_id.decode()),
        tenant=record[b"tenant"].decode(),
        lane=record[b"lane"].decode(),
        kind=record[b"kind"].decode(),
        input=payload,
        lease=Lease(lease_id, int(record[b"epoch"]), attempt),
        expires_at=from_ms(int(record[b"due"])),
        attempt_kind=AttemptKind(get(b"turn", b"initial").decode()),
        priority=int(get(b"priority", 0)),
        requires=names(get(b"requires")),
        tags=tags(packed_tags),
        created_at=born(record),
        deadline_at=moment(get(b"deadline")),
        timeout_at=moment(get(b"timeout_at")),
        replays=int(get(b"replays", 0)),
        steps={step.name: step.result for step in steps(journal)} if journal else {},
        traceparent=text(get(b"trace")),
    )


def steps(flat: Sequence[bytes]) -> list[Step]:
    """Decode the journal, in the order of recording."""
    rows = []
    for name, value in pairs(flat).items():
        number, at, result = value.split(b" ", 2)
        rows.append((int(number), name.decode(), from_ms(int(at)), result))
    rows.sort(key=lambda row: row[0])
    return [Step(name=name, at=at, result=result) for _, name, at, result in rows]


def entry(packed: bytes) -> dict[str, Any]:
    """Decode a log entry."""
    if not packed:
        return {}
    values: dict[str, Any] = _unpack(packed)
    if "error" in values:
        values["error"] = _parse_json(values["error"])
    return values


def execution(
    execution_id: str,
    fields: Sequence[bytes],
    packed_tags: bytes = b"",
    note: bytes = b"",
    last_entry: bytes = b"",
) -> Execution:
    """Decode a description."""
    record = pairs(fields)
    get = record.get
    state = State(record[b"state"].decode())
    last = entry(last_entry)
    due = moment(get(b"due"))
    hold = get(b"hold")
    return Execution(
        id=ExecutionId(execution_id),
        tenant=record[b"tenant"].decode(),
        lane=record[b"lane"].decode(),
        kind=record[b"kind"].decode(),
        priority=int(get(b"priority", 0)),
        requires=names(get(b"requires")),
        state=state,
        hold=Hold(hold.decode()) if hold else None,
        attempt_kind=AttemptKind(get(b"turn", b"initial").decode()),
        attempt_open=b"open" in record,
        attempts=int(get(b"attempts", 0)),
        failures=int(get(b"failures", 0)),
        reclaims=int(get(b"reclaims", 0)),
        replays=int(get(b"replays", 0)),
        epoch=int(get(b"epoch", 0)),
        worker=text(get(b"worker")) if state is State.ACTIVE else None,
        created_at=born(record),
        started_at=moment(get(b"started")),
        completed_at=moment(get(b"ended")),
        run_at=due if state is State.DELAYED else None,
        deadline_at=moment(get(b"deadline")),
        lease_expires_at=due if state is State.ACTIVE else None,
        timeout_at=moment(get(b"timeout_at")),
        forget_at=due if state.is_terminal else None,
        progress_pct=float(record[b"pct"]) if b"pct" in record else None,
        progress_message=note.decode() or None,
        error=last.get("error"),
        reason=last.get("reason") or None,
        tags=tags(packed_tags),
        idempotency_key=text(get(b"key")),
    )


#: Entries that end an attempt, and the outcome they give it.
_ENDS = frozenset(
    {"completed", "failed", "timed_out", "lease_expired", "lease_revoked"}
    | {"cancelled", "expired"}
)

#: For repeating calls only, of no interest to readers.
_INTERNAL = ("at", "event", "fence", "request")


def events(born_us: bytes, packed: Sequence[bytes]) -> list[Event]:
    """Decode the history, oldest first; creation is in the record, not in the log."""
    history = [Event(at=from_ms(int(born_us) // 1000), event="created", data={})]
    for values in map(entry, packed):
        data = {k: v for k, v in values.items() if k not in _INTERNAL}
        for name in ("retry_at", "run_at"):
            if name in data:
                data[name] = from_ms(int(data[name]))
        history.append(Event(at=from_ms(values["at"]), event=values["event"], data=data))
    return history


def attempts(packed: Sequence[bytes]) -> list[Attempt]:
    """Decode the attempts from the log, oldest first."""
    found: dict[int, dict[str, Any]] = {}
    for values in map(entry, packed):
        index = values.get("attempt")
        if index is None:
            continue
        event, at = values["event"], from_ms(values["at"])
        if event == "claimed":
            found[index] = {
                "index": index,
                "kind": AttemptKind(values.get("kind", "initial")),
                "worker": values["worker"],
                "started_at": at,
            }
        elif index in found and event == "resumed":
            found[index]["worker"] = values["worker"]
        elif index in found and event in _ENDS:
            found[index] |= {
                "ended_at": at,
                "outcome": event,
                "error": values.get("error"),
            }
    return [Attempt(**values) for values in found.values()]
