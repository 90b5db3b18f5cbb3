"""Rules of executions: which indexes a record must be in, and what must hold within it.

The rules share no code with the Lua library: everything is computed from the records again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.model.states import TERMINAL, AttemptKind, Hold, State, state_vector
from holdfast.model.waitpoints import WAIT_REASONS
from holdfast.store.verify import bonds, graphs, inboxes, sessions, waits
from holdfast.store.verify.drifts import Drift, Entry, in_record
from holdfast.store.verify.view import Record, View

#: Values up to this size live in the record, larger ones in keys of their own.
INLINE_BYTES = 64
#: Payloads in the brief of a plain execution (lua/lib/core/brief.lua).
BRIEF_BYTES = 256

#: The keys that an execution owns besides its record.
OWNED = (
    *("i", "r", "t", "n", "l", "s", "m", "w", "f", "p", "y", "z", "k", "unread", "mail"),
    *("mailkeys", "view", "stream", "frames", "live", "doc", "o"),
)
#: The owned keys that the rules look into.
_READ = (*"irtlswpyzk", "unread", "mail", "stream", "frames", "live")
#: Those that decide where it is listed: tags, and waitpoints.
_PLACING = ("x", "t", "p")
_SESSION_HOLDS = tuple(Hold(hold.decode()) for hold in sessions.HOLDS)
_ENDED = ("ended", "result", "content_type")
#: What only a suspended execution has, and what one has after it, until its end or its next wait.
_WAIT = ("wait_until", "on_timeout")
#: What the end of an execution acts on: a record that is marked as plain has none of it.
_ACTED_ON = (
    *("graph", "session", "schedule", "limited", "watched", "followed", "on_end", "waitpoints"),
    *("keep", "rev", "hold", "open", "timeout_at", "timeout_left", "wait_until", "resumed"),
    *("woken", "blocker", "retry_at", "awaits", "since", "kept", "tail"),
    *("bond", "bonds", "listener", "listens"),
)
#: What is known of records with these marks nevertheless: limits, and the graph of a member.
_KNOWN = {b"2": "limited", b"3": "graph"}
#: Fields that a state must have, and those that it must not have. `due` is when the state ends by
#: itself, `claimed` the time of a claim that is not in the log yet.
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "waiting": ((), (*_ENDED, *_WAIT, "due", "hold", "timeout_at", "claimed")),
    "granted": (("due", "grant", "limited"), (*_ENDED, *_WAIT, "hold", "timeout_at", "claimed")),
    "rate_limited": (("hold", "due", "blocker"), (*_ENDED, *_WAIT, "timeout_at", "claimed")),
    "delayed": (("hold",), (*_ENDED, *_WAIT, "timeout_at", "claimed")),
    "waiting_children": (
        ("graph",),
        (*_ENDED, *_WAIT, "due", "hold", "timeout_at", "claimed", "open", "spared", "loser"),
    ),
    "suspended": (("hold", "open"), (*_ENDED, "timeout_at", "claimed", "resumed")),
    "active": (
        ("due", "fence", "worker", "attempts", "epoch", "started"),
        (*_ENDED, *_WAIT, "hold", "open", "timeout_left"),
    ),
    "completed": (
        ("ended", "fence"),
        (*_WAIT, "hold", "open", "timeout_at", "timeout_left", "watched", "resumed"),
    ),
    "terminal": (
        ("ended",),
        (
            *(*_WAIT, "hold", "open", "timeout_at", "timeout_left", "watched"),
            *("claimed", "result", "resumed"),
        ),
    ),
}


def drifts(view: View, execution_id: str) -> Iterator[Drift]:
    """Return what is wrong with an execution itself."""
    _prefetch(view, execution_id)
    record = view.execution(execution_id)
    if record is None:
        return
    about = f"execution {execution_id}:"
    sentences = (
        *_check_state(record),
        *_check_counters(record),
        *_check_payloads(view, execution_id, record),
        *_check_steps(view, execution_id, record),
        *_check_log(view, execution_id, record),
        *_check_stream(view, execution_id, record),
        *waits.problems(view, execution_id, record),
        *sessions.wait_problems(view, execution_id, record),
        *inboxes.problems(view, execution_id, record),
        *bonds.problems(record),
    )
    yield from in_record(about, sentences)
    if "graph" in record:
        yield from in_record(about, _check_membership(view, record))


def _check_membership(view: View, record: Record) -> Iterator[str]:
    """Check that a member is kept as long as its graph; later, only an archive has it or had it."""
    state = record["state"].decode()
    if not view.has(f"graph:{record['graph'].decode()}"):
        if state not in TERMINAL:
            yield "has a graph that is gone"
    elif state in TERMINAL and "due" in record and not _is_leaving(view, record):
        yield f"is {state} with due"


def entries(view: View, execution_id: str) -> Iterator[Entry]:
    """Return the places of an execution in indexes."""
    view.prefetch(("v", f"{name}:{execution_id}", b"") for name in _PLACING)
    raw = view.record(f"x:{execution_id}")
    if raw is None:
        return
    member, born = execution_id.encode(), float(raw.get("born", 0))
    flat = _tags_of(view, execution_id, raw)
    for name, value in zip(flat[::2], flat[1::2], strict=True):
        yield Entry(f"g:{raw['tenant'].decode()}|{name}={value}", member, born)
    leaving = _is_leaving(view, raw)
    if "graph" in raw and view.has(f"graph:{raw['graph'].decode()}"):
        yield Entry(f"gm:{raw['graph'].decode()}", member, born, optional=leaving)
    if raw["state"] == b"staged":
        return
    yield Entry("c:" + _text(raw, "tenant", "lane", "kind", "state"), member, born)
    if "cause" in raw:
        cause = _text(raw, "tenant", "kind", "cause")
        yield Entry(f"cause:{cause}", member, born)
        yield Entry(f"causends:{cause}", member, float(raw["ended"]))
    if raw["state"] == b"waiting" and "due" not in raw:
        rank = float(raw.get("rank", raw["born"]))
        late = _may_have_left(view, raw)
        yield Entry(f"q:{_queue(raw)}", member, rank, optional=late)
    due = _due(raw)
    if due is not None:
        yield Entry("timers", b"x:" + member, due)
    if leaving or _waits_for_archive(view, raw):
        yield Entry("unarchived", member, born, optional=leaving)
    yield from _of_schedule(execution_id, raw, born)
    yield from _of_revision(raw, member)
    yield from waits.entries(view, execution_id, raw)
    yield from bonds.entries(view, execution_id, raw)


def _prefetch(view: View, execution_id: str) -> None:
    names = ("x", *_READ)
    view.prefetch(("v", f"{name}:{execution_id}", b"") for name in names)


def _text(record: Record, *names: str) -> str:
    return "|".join(record[name].decode() for name in names)


def _waits_for_archive(view: View, record: Record) -> bool:
    """Return whether it has ended, and no timer removes it; its graph does, if it has one."""
    if record["state"].decode() not in TERMINAL or "due" in record:
        return False
    return "graph" not in record or not view.has(f"graph:{record['graph'].decode()}")


def _is_leaving(view: View, record: Record) -> bool:
    """Return whether its graph is being removed: then it follows, or waits for the archive."""
    if "graph" not in record or record["state"].decode() not in TERMINAL:
        return False
    graph = view.record(f"graph:{record['graph'].decode()}")
    return graph is not None and graphs.is_leaving(graph)


def _may_have_left(view: View, record: Record) -> bool:
    """Return whether a claim may have taken it from its queue because its deadline has passed."""
    if "graph" in record:
        graph = view.record(f"graph:{record['graph'].decode()}") or {}
        if "mute" in graph:
            return True
    if "deadline" not in record:
        return False
    return view.now_ms is None or float(record["deadline"]) <= view.now_ms


def _of_schedule(execution_id: str, record: Record, born: float) -> Iterator[Entry]:
    if "schedule" not in record or record["state"].decode() in TERMINAL:
        return
    member, name = execution_id.encode(), execution_id.split("~", maxsplit=1)[0]
    if record.get("hold") == b"schedule":
        yield Entry(f"lined:{name}", member, default=born)
    elif "replays" not in record:
        # One that was replayed runs outside the line.
        yield Entry(f"fired:{name}", member)


def _of_revision(record: Record, member: bytes) -> Iterator[Entry]:
    if "rev" in record and record["state"].decode() not in TERMINAL:
        family = "revwaits" if record["state"] == b"suspended" else "revruns"
        place = f"{family}:{_text(record, 'tenant', 'rev')}"
        yield Entry(place, member, default=float(record["born"]) // 1000)


def _tags_of(view: View, execution_id: str, record: Record) -> list[str]:
    packed = record.get("tags") or view.value(f"t:{execution_id}")
    tags: list[str] = msgspec.msgpack.decode(packed) if packed else []
    return tags


def _check_payloads(view: View, execution_id: str, record: Record) -> Iterator[str]:
    most = BRIEF_BYTES if record.get("plain") in {b"1", b"2"} else INLINE_BYTES
    for family, field in (("i", "input"), ("r", "result"), ("t", "tags")):
        inline, outside = record.get(field), view.value(f"{family}:{execution_id}")
        if inline is not None and outside is not None:
            yield f"has its {field} twice"
        if inline is not None and len(inline) > most:
            yield f"has {len(inline)} bytes of {field} in its record"
        wanted = {
            "input": True,
            "result": record["state"] == b"completed",
            "tags": "tagged" in record,
        }[field]
        if wanted != (inline is not None or outside is not None):
            yield f"{'lacks its' if wanted else 'should have no'} {field}"
    if len(_tags_of(view, execution_id, record)) != 2 * int(record.get("tagged", 0)):
        yield "has another number of tags than its record says"
    if "pct" not in record and view.has(f"n:{execution_id}"):
        yield "has a progress message without progress"
    if ("watched" in record) != view.has(f"w:{execution_id}"):
        yield "is watched or not: its record and its watchers disagree"


def _check_steps(view: View, execution_id: str, record: Record) -> Iterator[str]:
    journal = view.value(f"s:{execution_id}") or {}
    numbers = sorted(int(value.split(b" ", 1)[0]) for value in journal.values())
    if numbers != list(range(1, int(record.get("steps", 0)) + 1)):
        yield f"has the steps {numbers}, its record says {record.get('steps')!r}"


def _check_stream(view: View, execution_id: str, record: Record) -> Iterator[str]:
    stream = view.value(f"stream:{execution_id}") or {}
    if ("streamed" in record) != bool(stream):
        yield "streams or not: its record and its stream disagree"
    known = {name.decode(): int(value) for name, value in stream.items()}
    numbers: list[int] = []
    for family, prefix in (("frames", ""), ("live", "live_")):
        rows = view.value(f"{family}:{execution_id}") or []
        numbers += [int(name.split(b"-")[0]) for name, _ in rows]
        size = sum(len(fields[b"p"]) for _, fields in rows)
        if rows and size != known[f"{prefix}bytes"]:
            yield f"has {size} bytes in its {family}, its stream says {known}"
    if len(set(numbers)) != len(numbers) or max(numbers, default=0) > known.get("last", 0):
        yield f"has the frames {sorted(numbers)}, its stream says {known}"
    if known.get("attempt", -1) >= int(record.get("attempts", 0)):
        yield f"has frames of an attempt that never was: {known}"


def _check_log(view: View, execution_id: str, record: Record) -> Iterator[str]:
    packed = view.value(f"l:{execution_id}") or []
    if len(packed) >= waits.LOG_ENTRIES:
        return
    entries = [msgspec.msgpack.decode(entry) for entry in packed]
    if "claimed" in record:
        last = {"attempt": int(record["attempts"]) - 1, "epoch": int(record["epoch"])}
        entries.append({"event": "claimed", **last})
    if record["state"] == b"completed":
        entries.append({"event": "completed"})
    ends, replays = 0, 0
    for entry in entries:
        if ends > replays and entry["event"] != "replayed":
            yield f"has {entry['event']} in its log after its end"
        replays += entry["event"] == "replayed"
        ends += _is_end(entry)
    expected = int(record.get("replays", 0)) + (record["state"].decode() in TERMINAL)
    if (ends, replays) != (expected, int(record.get("replays", 0))):
        yield f"ended {ends} times and was replayed {replays} times, {expected} ends expected"
    starts = Counter(entry["attempt"] for entry in entries if entry["event"] == "claimed")
    if starts != Counter(range(int(record.get("attempts", 0)))):
        yield f"started the attempts {dict(starts)}, its record says {record.get('attempts')!r}"
    leases = [entry["epoch"] for entry in entries if entry["event"] in ("claimed", "resumed")]
    if not _fit(leases, record):
        yield f"had the epochs {leases}, its record says {record.get('epoch')!r}"


def _fit(leases: list[int], record: Record) -> bool:
    """Whether the epochs of leases are those that the record allows."""
    epoch = int(record.get("epoch", 0))
    if "limited" in record or "session" in record:
        # A grant that came to nothing uses up an epoch; turns of a session are not logged.
        return leases == sorted(set(leases)) and leases[-1:] <= [epoch]
    return leases == list(range(1, epoch + 1))


def _queue(record: Record) -> str:
    names = (record["lane"], record["kind"], record.get("requires", b""), record["tenant"])
    return "|".join(name.decode() for name in names)


def _is_end(entry: dict[str, Any]) -> bool:
    """Whether this log entry ended the execution."""
    event = entry["event"]
    if event in ("completed", "cancelled", "expired", "skipped"):
        return True
    if event == "lease_expired":
        return "error" in entry
    # The end of a wait by its timeout has no state: it is always the end.
    return event in ("failed", "timed_out") and entry.get("state", "failed") == "failed"


def _due(record: Record) -> float | None:
    """When the timer of an execution must fire: at the first thing that is due."""
    ended = record["state"].decode() in TERMINAL
    names = ("due",) if ended else ("due", "timeout_at", "deadline")
    return min((float(record[name]) for name in names if name in record), default=None)


def _fields_of(state: State, record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a record must have in a state, and what it must not have."""
    granted = state is State.WAITING and "due" in record
    must, must_not = _FIELDS.get("granted" if granted else state.value, _FIELDS["terminal"])
    if "session" in record:
        # Its turns are not logged, so neither is its claim.
        must_not = tuple(set(must_not) - {"claimed"})
    if "graph" in record and state.is_terminal:
        # It is kept as long as its graph, unless it came back from the archive.
        must = tuple(set(must) - {"due"})
    return must, must_not


def _check_state(record: Record) -> Iterator[str]:
    """Check that the fields fit the state, and that the state vector follows from them."""
    state = State(record["state"].decode())
    must, must_not = _fields_of(state, record)
    if "plain" in record and record["plain"] != b"0":
        known = _KNOWN.get(record["plain"])
        acted_on = (name for name in _ACTED_ON if name in record and name != known)
        yield from (f"is plain with {name}" for name in acted_on)
    yield from (f"is {state} without {name}" for name in must if name not in record)
    yield from (f"is {state} with {name}" for name in must_not if name in record)
    hold = Hold(record["hold"].decode()) if "hold" in record else None
    is_open = "open" in record
    # A wait for a signal may have an end, or none.
    timeless = hold is Hold.SCHEDULE or (hold is Hold.SIGNAL and "due" not in record)
    if state is State.DELAYED and ("due" in record) == timeless:
        yield f"is held by {hold}, which does not fit its due time"
    if state is State.DELAYED and is_open != (hold in {Hold.PAUSE, Hold.SIGNAL}):
        yield f"is held by {hold}, which does not fit its attempt"
    if state is State.SUSPENDED and hold not in (*WAIT_REASONS, Hold.ESCALATED, *_SESSION_HOLDS):
        yield f"is suspended by {hold}"
    if ("on_timeout" in record) != ("wait_until" in record):
        yield "has a timeout of its wait without what it does, or the reverse"
    if state is State.ACTIVE and ("timeout_at" in record) != ("attempt_timeout" in record):
        yield "has a time-out without reason, or none"
    # The next turn of a session has a time of its own.
    restarted = "session" in record and "timeout_left" not in record
    if is_open and not restarted and ("timeout_left" in record) != ("attempt_timeout" in record):
        yield "has time left without reason, or none"
    kind = AttemptKind(record.get("turn", b"initial").decode())
    vector = state_vector(state, hold, kind, attempt_open=is_open)
    if (vector.eligibility == "eligible_now") != (state is State.WAITING):
        yield f"is {state} and {vector.eligibility}"
    if (vector.lifecycle_phase == "terminal") != ("ended" in record):
        yield f"is {vector.lifecycle_phase}, its end says otherwise"


def _check_counters(record: Record) -> Iterator[str]:
    attempts, epoch = int(record.get("attempts", 0)), int(record.get("epoch", 0))
    if not attempts <= epoch:
        yield f"has {attempts} attempts in {epoch} leases"
    if (attempts > 0) != ("started" in record):
        yield "has attempts but no start, or the reverse"
    for name in ("failures", "reclaims"):
        if int(record.get(name, 0)) > attempts:
            yield f"has {name} {record[name]!r} in {attempts} attempts"
    if ("deadline" in record) != ("deadline_span" in record):
        yield "has a deadline without its span, or the reverse"
    if "ended" in record and float(record.get("due", "inf")) < float(record["ended"]):
        yield "is forgotten before its end"
    if "fence" in record:
        _, fence_epoch, fence_attempt = record["fence"].decode().rsplit(":", 2)
        # The epoch of a limited execution rises with its grants.
        same = int(fence_epoch) <= epoch if "limited" in record else int(fence_epoch) == epoch
        if not same or int(fence_attempt) != attempts - 1:
            yield f"has the fence {record['fence']!r} at epoch {epoch}, attempts {attempts}"
