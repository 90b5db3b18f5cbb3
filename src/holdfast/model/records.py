"""Records of executions: the layout of fields, logs, journals and frames.

The store keeps executions in this form, and exports and archives contain it. Only this module
reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from holdfast.model import causes
from holdfast.model import names as tenancy
from holdfast.model.executions import (
    Attempt,
    Event,
    Execution,
    ExecutionId,
    Step,
)
from holdfast.model.frames import Frame
from holdfast.model.limit_refs import LimitRef, parse_all
from holdfast.model.moments import from_ms
from holdfast.model.states import AttemptKind, Hold, State

Record = Mapping[bytes, bytes]
#: Returns an error in plain form.
OpenError = Callable[[Mapping[str, Any]], Mapping[str, Any]]


#: The id of a graph that a task created.
_GRAPH_OF_TASK = re.compile(r"(.+)~[0-9]+\.g[0-9]+\Z")


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


def limit_names(value: bytes | None, kind: Literal["budget", "quota"]) -> tuple[str, ...]:
    """Decode the stored names of budgets or quotas out of limits."""
    if not value:
        return ()
    return tuple(limit.name for limit in parse_all(value.decode()) if limit.kind == kind)


def seen_limit(stored: str, tenant: str) -> str:
    """Return a budget or quota as a tenant uses it; `#` and the value of a tag may follow."""
    limit, sharp, value = stored.partition("#")
    return tenancy.seen(limit, tenant) + sharp + value


def _seen_limits(
    value: bytes | None, kind: Literal["budget", "quota"], tenant: str
) -> tuple[str, ...]:
    return tuple(seen_limit(name, tenant) for name in limit_names(value, kind))


def born(record: Record) -> datetime:
    """Return the time of creation, from the birth stamp in us."""
    return from_ms(int(record[b"born"]) // 1000)


def tags(packed: bytes) -> dict[str, str]:
    """Decode tags: a flat list of names and values."""
    flat = _unpack(packed) if packed else []
    return dict(zip(flat[::2], flat[1::2], strict=True))


def steps(flat: Sequence[bytes]) -> list[Step]:
    """Decode the journal, in the order of recording."""
    rows = []
    for name, value in pairs(flat).items():
        number, at, result = value.split(b" ", 2)
        rows.append((int(number), name.decode(), from_ms(int(at)), result))
    rows.sort(key=lambda row: row[0])
    return [Step(name=name, at=at, result=result) for _, name, at, result in rows]


def entry(packed: bytes, open_error: OpenError | None = None) -> dict[str, Any]:
    """Decode a log entry."""
    if not packed:
        return {}
    values: dict[str, Any] = _unpack(packed)
    if "error" in values:
        values["error"] = _parse_json(values["error"])
        if open_error is not None:
            values["error"] = open_error(values["error"])
    return values


def execution(
    execution_id: str,
    fields: Sequence[bytes],
    packed_tags: bytes = b"",
    note: bytes = b"",
    last_entry: bytes = b"",
    *,
    open_error: OpenError | None = None,
) -> Execution:
    """Decode a description."""
    record = pairs(fields)
    get = record.get
    state = State(record[b"state"].decode())
    last = entry(last_entry, open_error)
    hold = get(b"hold")
    if state is State.WAITING and b"due" in record:
        hold = Hold.GRANT.encode()
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
        deadline_at=moment(get(b"deadline")),
        timeout_at=moment(get(b"timeout_at")),
        **_due_times(record, state),
        progress_pct=float(record[b"pct"]) if b"pct" in record else None,
        progress_message=note.decode() or None,
        error=last.get("error") or (None if last_entry else causes.brief(get(b"cause"))),
        reason=last.get("reason") or None,
        tags=tags(packed_tags),
        idempotency_key=text(get(b"key")),
        graph=text(get(b"graph")),
        **_family(execution_id, record),
        **_limits(record),
    )


def _family(execution_id: str, record: Record) -> dict[str, Any]:
    """Decode its parent and what its bonds do, and how many signals it has not received."""
    parent = _parent(execution_id, record)
    # A member belongs to its graph: that is bound, not the member.
    is_child = parent is not None and b"graph" not in record
    return {
        "parent": parent,
        "on_parent_end": (text(record.get(b"bond")) or "keep") if is_child else None,
        "bound": int(record.get(b"bound", 0)),
        "unread": int(record.get(b"unread", 0)),
        "listens": names(record.get(b"listens")),
    }


def parent_of_graph(graph_id: str) -> str | None:
    """Return the execution whose task submitted a graph."""
    match = _GRAPH_OF_TASK.match(graph_id)
    return match[1] if match else None


def _parent(execution_id: str, record: Record) -> str | None:
    """Decode the parent: ids of children, and of graphs of a task, start with its id."""
    graph = text(record.get(b"graph"))
    if graph is not None:
        return parent_of_graph(graph)
    return execution_id.rpartition("~")[0] if b"child" in record else None


def _due_times(record: Record, state: State) -> dict[str, Any]:
    """Decode when its state ends on its own, under the field name for that state."""
    due = moment(record.get(b"due"))
    return {
        "run_at": due if state is State.DELAYED else None,
        "lease_expires_at": due if state is State.ACTIVE else None,
        "forget_at": due if state.is_terminal else None,
        "wait_until": moment(record.get(b"wait_until")),
        "on_timeout": text(record.get(b"on_timeout")),
    }


def _limits(record: Record) -> dict[str, Any]:
    """Decode the limits of an execution, and the one that holds it back."""
    get = record.get
    blocker, tenant = get(b"blocker"), record[b"tenant"].decode()
    return {
        "budgets": _seen_limits(get(b"limits"), "budget", tenant),
        "quotas": _seen_limits(get(b"limits"), "quota", tenant),
        "blocked_by": seen_limit(LimitRef.parse(blocker.decode()).name, tenant)
        if blocker
        else None,
        "retry_at": moment(get(b"retry_at")),
    }


#: Entries that end an attempt, with the outcome of the attempt.
_ENDS = frozenset(
    {"completed", "failed", "timed_out", "lease_expired", "lease_revoked"}
    | {"cancelled", "expired"}
)


#: Only for repeated calls; readers do not need them.
_INTERNAL = ("at", "event", "fence", "request", "points")


def events(
    born_us: bytes, packed: Sequence[bytes], open_error: OpenError | None = None
) -> list[Event]:
    """Decode the history, oldest first; the creation is in the record, not in the log."""
    history = [Event(at=from_ms(int(born_us) // 1000), event="created", data={})]
    for values in (entry(one, open_error) for one in packed):
        data = {k: v for k, v in values.items() if k not in _INTERNAL}
        for name in ("retry_at", "run_at"):
            if name in data:
                data[name] = from_ms(int(data[name]))
        history.append(Event(at=from_ms(values["at"]), event=values["event"], data=data))
    return history


def attempts(packed: Sequence[bytes], open_error: OpenError | None = None) -> list[Attempt]:
    """Decode the attempts from the log, oldest first."""
    attempts_by_index: dict[int, dict[str, Any]] = {}
    for values in (entry(one, open_error) for one in packed):
        index = values.get("attempt")
        if index is None:
            continue
        event, at = values["event"], from_ms(values["at"])
        if event == "claimed":
            attempts_by_index[index] = {
                "index": index,
                "kind": AttemptKind(values.get("kind", "initial")),
                "worker": values["worker"],
                "started_at": at,
            }
        elif index in attempts_by_index and event == "resumed":
            attempts_by_index[index]["worker"] = values["worker"]
        elif index in attempts_by_index and event in _ENDS:
            attempts_by_index[index] |= {
                "ended_at": at,
                "outcome": event,
                "error": values.get("error"),
            }
    return [Attempt(**values) for values in attempts_by_index.values()]


def frame(name: bytes, flat: Sequence[bytes], *, live: bool) -> Frame:
    """Decode a frame of a stream."""
    number, _, at = name.partition(b"-")
    values = pairs(flat)
    encoding = values.get(b"e")
    return Frame(
        id=int(number),
        attempt=int(values[b"a"]),
        type=values[b"t"].decode(),
        payload=values[b"p"],
        encoding=None if encoding is None else encoding.decode(),
        at=from_ms(int(at)),
        live=live,
    )
