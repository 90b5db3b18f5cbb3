"""What must always hold for the stored data (DESIGN, section 5: 1 to 5, 9), seen from outside.

`violations` looks at all keys of a store at once and shares no code with the library: what each
index must contain is computed anew from the records.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.model.states import TERMINAL, AttemptKind, Hold, State, state_vector
from holdfast.model.waitpoints import WAIT_REASONS
from tests.support.bond_invariants import bond_problems, bond_timers
from tests.support.graph_invariants import GRAPH_FAMILIES, graph_problems, graph_timers
from tests.support.inbox_invariants import inbox_problems
from tests.support.revision_invariants import REVISION_FAMILIES, revision_problems
from tests.support.session_invariants import (
    HOLDS,
    SESSION_FAMILIES,
    check_session_timers,
    session_problems,
)
from tests.support.wait_invariants import check_waits, timers_of

Record = dict[str, bytes]

#: Values up to this size live in the record, larger ones in keys of their own.
INLINE_BYTES = 64
#: The log keeps this many entries; a longer one has lost its beginning.
LOG_ENTRIES = 1000

_OWNED = {
    "i": "input",
    "r": "result",
    "t": "tags",
    "n": "pct",
    "s": "steps",
    "w": "watched",
    "f": "followed",
}
_WAITS = ("p", "y", "z", "k")
_FAMILIES = frozenset("xirtnlswcgqpyzkf") | {
    *("tenants", "cells", "causes", "cause", "causends", "routes", "pass", "turns", "timers"),
    *("settings", "meta", "alias", "worker", "workers", "tasks", "open", "keyring"),
    *("secrets", "sealing"),
    *GRAPH_FAMILIES,
    *("bonds", "view", "unread", "mail", "mailkeys"),
    *SESSION_FAMILIES,
    *REVISION_FAMILIES,
    *("envs", "env", "deployments", "dtenants", "dchanges", "deployment", "dlog", "split"),
    *("endpoints", "endpoint"),
    *("revisions", "revision", "draining", "packs", "pack", "blob"),
    *("rollout", "rollouts", "rolling"),
    *("stream", "frames", "live", "doc", "tails"),
    *("schedule", "plan", "schedules", "dues", "fired", "lined"),
    *("unarchived", "o", "objects", "state", "state_due", "state_meta"),
    *("access", "accesses", "audit", "feeds", "feed"),
    *("m", "window", "outbox", "wait", "waits", "quotas", "quota", "queues", "held"),
    *("admissions", "promises", "void", "admit", "budgets", "budget", "address", "reservation"),
    *("applied", "breaches", "spent", "total"),
}
#: Timers of partitions of their own: quotas, budgets, reservations; of API keys and feeds.
_ELSEWHERE = (b"q:", b"b:", b"v:", b"a:", b"f:")
_SESSION_HOLDS = tuple(Hold(hold.decode()) for hold in HOLDS)
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


def violations(dump: dict[str, Any], now_ms: int | None = None) -> list[str]:
    """Return what is wrong with the data, one sentence each; nothing if all is well.

    With the time of the store, the check of work that waits after its deadline is exact.
    """
    partitions: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    found = []
    for key, value in dump.items():
        tag, part = key.split("}:", 1)
        family, _, name = part.partition(":")
        partitions[tag + "}"][family][name] = value
        if family not in _FAMILIES:
            found.append(f"{key} is of no known family")
    for tag, families in partitions.items():
        found += [f"{tag}: {problem}" for problem in _Partition(families, now_ms).problems()]
    return found


class _Partition:
    """The keys of one partition by family: `x` the records, `c` the cells, and so on."""

    def __init__(self, families: dict[str, dict[str, Any]], now_ms: int | None) -> None:
        self._families = families
        self._now_ms = now_ms
        self._records: dict[str, Record] = {
            execution_id: {name.decode(): value for name, value in fields.items()}
            for execution_id, fields in families["x"].items()
            if fields[b"state"] != b"staged"
        }

    def problems(self) -> Iterator[str]:
        for execution_id, record in self._records.items():
            for problem in (
                *_check_state(record),
                *_check_counters(record),
                *self._check_payloads(execution_id, record),
                *self._check_steps(execution_id, record),
                *self._check_log(execution_id, record),
                *self._check_stream(execution_id, record),
            ):
                yield f"execution {execution_id}: {problem}"
        yield from self._check_cells()
        yield from self._check_causes()
        yield from self._check_tags()
        yield from self._check_ready()
        yield from self._check_timers()
        yield from self._check_owners()
        yield from self._check_workers()
        yield from check_waits(self._families, self._records, self._now_ms)
        yield from graph_problems(self._families, self._records)
        yield from session_problems(self._families, self._records)
        yield from revision_problems(self._families, self._records)
        yield from bond_problems(self._families, self._records)
        yield from inbox_problems(self._families, self._records)
        yield from self._check_schedules()
        yield from self._check_unarchived()

    def _sets(self, family: str) -> dict[str, set[bytes]]:
        return {name: set(members) for name, members in self._families[family].items()}

    # Indexes

    def _check_causes(self) -> Iterator[str]:
        born: dict[str, dict[bytes, float]] = defaultdict(dict)
        ended: dict[str, dict[bytes, float]] = defaultdict(dict)
        by_tenant: dict[str, set[bytes]] = defaultdict(set)
        for execution_id, record in self._records.items():
            if (cause := record.get("cause")) is None:
                continue
            tenant, name = record["tenant"].decode(), f"{record['kind'].decode()}|{cause.decode()}"
            by_tenant[tenant].add(name.encode())
            born[f"{tenant}|{name}"][execution_id.encode()] = float(record["born"])
            ended[f"{tenant}|{name}"][execution_id.encode()] = float(record["ended"])
        yield from _differences("cause", self._families["cause"], born)
        yield from _differences("ends of cause", self._families["causends"], ended)
        yield from _differences("causes of tenant", self._sets("causes"), by_tenant)

    def _check_cells(self) -> Iterator[str]:
        cells: dict[str, dict[bytes, float]] = defaultdict(dict)
        by_tenant: dict[str, set[bytes]] = defaultdict(set)
        for execution_id, record in self._records.items():
            tenant, *rest = (record[name].decode() for name in ("tenant", "lane", "kind", "state"))
            cell = "|".join(rest)
            cells[f"{tenant}|{cell}"][execution_id.encode()] = float(record["born"])
            by_tenant[tenant].add(cell.encode())
        yield from _differences("cell", self._families["c"], cells)
        yield from _differences("cells of tenant", self._sets("cells"), by_tenant)
        tenants = {"": {tenant.encode() for tenant in by_tenant}} if by_tenant else {}
        yield from _differences("the set of tenants", self._sets("tenants"), tenants)

    def _check_tags(self) -> Iterator[str]:
        tagged: dict[str, dict[bytes, float]] = defaultdict(dict)
        for execution_id, fields in self._families["x"].items():
            record = {name.decode(): value for name, value in fields.items()}
            flat = self._tags_of(execution_id, record)
            for name, value in zip(flat[::2], flat[1::2], strict=True):
                place = f"{record['tenant'].decode()}|{name}={value}"
                tagged[place][execution_id.encode()] = float(record["born"])
        yield from _differences("tag", self._families["g"], tagged)

    def _tags_of(self, execution_id: str, record: Record) -> list[str]:
        packed = record.get("tags") or self._families["t"].get(execution_id)
        tags: list[str] = msgspec.msgpack.decode(packed) if packed else []
        return tags

    def _check_ready(self) -> Iterator[str]:
        queues: dict[str, dict[bytes, float]] = defaultdict(dict)
        for execution_id, record in self._records.items():
            ready = record["state"] == b"waiting" and "due" not in record
            if ready and not self._is_overdue(execution_id, record):
                rank = float(record.get("rank", record["born"]))
                queues[_queue(record)][execution_id.encode()] = rank
        yield from _differences("ready set", self._families["q"], queues)

        turns: dict[str, set[bytes]] = defaultdict(set)
        routes: dict[str, set[bytes]] = defaultdict(set)
        for queue in queues:
            lane, kind, requires, tenant = queue.split("|")
            turns[f"{lane}|{kind}|{requires}"].add(tenant.encode())
            routes[lane].add(f"{kind}|{requires}".encode())
        yield from _differences("turns", self._sets("turns"), turns)
        yield from _differences("routes of lane", self._sets("routes"), routes)
        for lane in self._families["pass"].keys() - routes.keys():
            yield f"lane {lane} has passes but no ready work"

    def _is_overdue(self, execution_id: str, record: Record) -> bool:
        """Whether a claim took it out of its queue because its deadline has passed."""
        if "graph" in record and b"mute" in self._families["graph"][record["graph"].decode()]:
            return execution_id.encode() not in self._families["q"].get(_queue(record), {})
        if "deadline" not in record:
            return False
        in_queue = execution_id.encode() in self._families["q"].get(_queue(record), {})
        return not in_queue and (self._now_ms is None or float(record["deadline"]) <= self._now_ms)

    def _check_timers(self) -> Iterator[str]:
        timers = {b"x:" + i.encode(): _due(record) for i, record in self._records.items()}
        for instance, fields in self._families["worker"].items():
            timers[b"k:" + instance.encode()] = float(fields[b"expires_at"])
        timers |= timers_of(self._families, self._records)
        timers |= graph_timers(self._families)
        expected = {member: due for member, due in timers.items() if due is not None}
        found = self._families["timers"].get("", {})
        # The timer of a schedule that is due rings again and again, so its time is its own.
        ringing = {member for member in found if member.startswith(b"s:")}
        sessions = {member for member in found if member.startswith(b"c:")}
        # Those of other partitions, such as quotas, are theirs.
        others = ringing | sessions | bond_timers(self._families, self._records).keys()
        kept = {m: due for m, due in found.items() if m not in others and m[:2] not in _ELSEWHERE}
        yield from _differences("timer", kept, expected)
        dues = {b"s:" + name for name in self._families["dues"].get("", {})}
        if ringing != dues:
            yield f"the timers {ringing} of schedules should be {dues}"
        yield from check_session_timers(self._families, sessions)

    def _check_owners(self) -> Iterator[str]:
        for family in (
            *_OWNED,
            *_WAITS,
            "l",
            "stream",
            "frames",
            "live",
            "doc",
            "m",
            "view",
            "mail",
        ):
            for execution_id in self._families[family].keys() - self._families["x"].keys():
                yield f"key {family}:{execution_id} belongs to no execution"

    def _check_schedules(self) -> Iterator[str]:
        records = self._families["schedule"]
        names = {name.encode() for name in records}
        yield from _differences(
            "the set of schedules", self._sets("schedules"), {"": names} if names else {}
        )
        dues = {n.encode(): float(r[b"due"]) for n, r in records.items() if r[b"due"]}
        yield from _differences("what is due", self._families["dues"], {"": dues} if dues else {})
        fired: dict[str, set[bytes]] = defaultdict(set)
        lined: dict[str, set[bytes]] = defaultdict(set)
        for execution_id, record in self._records.items():
            if "schedule" not in record or record["state"].decode() in TERMINAL:
                continue
            held = record.get("hold") == b"schedule"
            group = lined if held else fired
            # One that was replayed runs outside the line.
            if held or "replays" not in record:
                group[execution_id.split("~")[0]].add(execution_id.encode())
        yield from _differences("what lines up for", self._sets("lined"), lined)
        yield from _differences("what was fired by", self._sets("fired"), fired)
        for name in lined.keys() - fired.keys():
            yield f"executions of schedule {name} wait for nothing"

    def _check_workers(self) -> Iterator[str]:
        known = {instance.encode() for instance in self._families["worker"]}
        yield from _differences(
            "the set of workers", self._sets("workers"), {"": known} if known else {}
        )

    def _check_unarchived(self) -> Iterator[str]:
        """An execution that has ended is removed by its timer, or waits for the archive."""
        waiting = {
            execution_id.encode(): float(record["born"])
            for execution_id, record in self._records.items()
            if record["state"].decode() in TERMINAL
            and "due" not in record
            # A member of a graph is kept as long as its graph.
            and f"{record.get('graph', b'').decode()}" not in self._families["graph"]
        }
        expected = {"": waiting} if waiting else {}
        yield from _differences("waiting for the archive", self._families["unarchived"], expected)

    # What an execution owns

    def _check_payloads(self, execution_id: str, record: Record) -> Iterator[str]:
        for family, field in (("i", "input"), ("r", "result"), ("t", "tags")):
            inline, outside = record.get(field), self._families[family].get(execution_id)
            if inline is not None and outside is not None:
                yield f"has its {field} twice"
            if inline is not None and len(inline) > INLINE_BYTES:
                yield f"has {len(inline)} bytes of {field} in its record"
            wanted = {
                "input": True,
                "result": record["state"] == b"completed",
                "tags": "tagged" in record,
            }[field]
            if wanted != (inline is not None or outside is not None):
                yield f"{'lacks its' if wanted else 'should have no'} {field}"
        if len(self._tags_of(execution_id, record)) != 2 * int(record.get("tagged", 0)):
            yield "has another number of tags than its record says"
        if execution_id in self._families["n"] and "pct" not in record:
            yield "has a progress message without progress"
        if ("watched" in record) != (execution_id in self._families["w"]):
            yield "is watched or not: its record and its watchers disagree"

    def _check_steps(self, execution_id: str, record: Record) -> Iterator[str]:
        journal = self._families["s"].get(execution_id, {})
        numbers = sorted(int(value.split(b" ", 1)[0]) for value in journal.values())
        if numbers != list(range(1, int(record.get("steps", 0)) + 1)):
            yield f"has the steps {numbers}, its record says {record.get('steps')!r}"

    def _check_stream(self, execution_id: str, record: Record) -> Iterator[str]:
        stream = self._families["stream"].get(execution_id, {})
        if ("streamed" in record) != bool(stream):
            yield "streams or not: its record and its stream disagree"
        known = {name.decode(): int(value) for name, value in stream.items()}
        numbers: list[int] = []
        for family, prefix in (("frames", ""), ("live", "live_")):
            rows = self._families[family].get(execution_id, [])
            numbers += [int(name.split(b"-")[0]) for name, _ in rows]
            size = sum(len(fields[b"p"]) for _, fields in rows)
            if rows and size != known[f"{prefix}bytes"]:
                yield f"has {size} bytes in its {family}, its stream says {known}"
        if len(set(numbers)) != len(numbers) or max(numbers, default=0) > known.get("last", 0):
            yield f"has the frames {sorted(numbers)}, its stream says {known}"
        if known.get("attempt", -1) >= int(record.get("attempts", 0)):
            yield f"has frames of an attempt that never was: {known}"

    def _check_log(self, execution_id: str, record: Record) -> Iterator[str]:
        packed = self._families["l"].get(execution_id, [])
        if len(packed) >= LOG_ENTRIES:
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


def _differences(what: str, found: dict[Any, Any], expected: dict[Any, Any]) -> Iterator[str]:
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            yield f"{what} {name} is {found.get(name)}, should be {expected.get(name)}"


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
        # It is kept as long as its graph.
        must, must_not = tuple(set(must) - {"due"}), (*must_not, "due")
    return must, must_not


def _check_state(record: Record) -> Iterator[str]:
    """Check that the fields fit the state, and that the state vector follows from them."""
    state = State(record["state"].decode())
    must, must_not = _fields_of(state, record)
    if record.get("plain") == b"1":
        yield from (f"is plain with {name}" for name in _ACTED_ON if name in record)
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
    anew = "session" in record and "timeout_left" not in record
    if is_open and not anew and ("timeout_left" in record) != ("attempt_timeout" in record):
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
