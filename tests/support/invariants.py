"""What must always hold for the stored data (DESIGN, section 5, 1 to 4), checked from outside.

`violations` looks at all keys of a store at once and shares no code with the library: what each
index must contain is computed anew from the records.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.model.states import TERMINAL, AttemptKind, Hold, State, state_vector

Record = dict[str, bytes]

#: Values up to this size live in the record, larger ones in keys of their own.
INLINE_BYTES = 64
#: The log keeps this many entries; a longer one has lost its beginning.
LOG_ENTRIES = 1000

_OWNED = {"i": "input", "r": "result", "t": "tags", "n": "pct", "s": "steps", "w": "watched"}
_FAMILIES = frozenset("xirtnlswcgq") | {
    *("tenants", "cells", "routes", "pass", "turns", "timers"),
    *("settings", "meta", "alias", "worker", "workers"),
    *("m", "window", "outbox", "wait", "waits", "quotas", "quota", "queues", "held"),
    *("admissions", "promises", "void", "admit", "budgets", "budget", "address", "reservation"),
    *("applied", "breaches", "spent", "total"),
}
_ENDED = ("ended", "result", "content_type")
#: Fields that a state must have, and those that it must not have. `due` is when the state ends by
#: itself, `claimed` the time of a claim that is not in the log yet.
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "waiting": ((), (*_ENDED, "due", "hold", "timeout_at", "claimed")),
    "granted": (("due", "grant", "limited"), (*_ENDED, "hold", "timeout_at", "claimed")),
    "rate_limited": (("hold", "due", "blocker"), (*_ENDED, "timeout_at", "claimed")),
    "delayed": (("hold", "due"), (*_ENDED, "timeout_at", "claimed")),
    "active": (
        ("due", "fence", "worker", "attempts", "epoch", "started"),
        (*_ENDED, "hold", "open", "timeout_left"),
    ),
    "completed": (
        ("due", "ended", "fence"),
        ("hold", "open", "timeout_at", "timeout_left", "watched"),
    ),
    "terminal": (
        ("due", "ended"),
        ("hold", "open", "timeout_at", "timeout_left", "watched", "claimed", "result"),
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
        }

    def problems(self) -> Iterator[str]:
        for execution_id, record in self._records.items():
            for problem in (
                *_check_state(record),
                *_check_counters(record),
                *self._check_payloads(execution_id, record),
                *self._check_steps(execution_id, record),
                *self._check_log(execution_id, record),
            ):
                yield f"execution {execution_id}: {problem}"
        yield from self._check_cells()
        yield from self._check_tags()
        yield from self._check_ready()
        yield from self._check_timers()
        yield from self._check_owners()
        yield from self._check_workers()

    def _sets(self, family: str) -> dict[str, set[bytes]]:
        return {name: set(members) for name, members in self._families[family].items()}

    # Indexes

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
        for execution_id, record in self._records.items():
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
            lane, requires, tenant = queue.split("|")
            turns[f"{lane}|{requires}"].add(tenant.encode())
            routes[lane].add(requires.encode())
        yield from _differences("turns", self._sets("turns"), turns)
        yield from _differences("routes of lane", self._sets("routes"), routes)
        for lane in self._families["pass"].keys() - routes.keys():
            yield f"lane {lane} has passes but no ready work"

    def _is_overdue(self, execution_id: str, record: Record) -> bool:
        """Whether a claim took it out of its queue because its deadline has passed."""
        if "deadline" not in record:
            return False
        in_queue = execution_id.encode() in self._families["q"].get(_queue(record), {})
        return not in_queue and (self._now_ms is None or float(record["deadline"]) <= self._now_ms)

    def _check_timers(self) -> Iterator[str]:
        timers = {b"x:" + i.encode(): _due(record) for i, record in self._records.items()}
        for instance, fields in self._families["worker"].items():
            timers[b"k:" + instance.encode()] = float(fields[b"expires_at"])
        expected = {member: due for member, due in timers.items() if due is not None}
        found = self._families["timers"].get("", {})
        # Quotas, budgets and reservations have timers in partitions of their own.
        own = {member: due for member, due in found.items() if member[:2] in (b"x:", b"k:")}
        yield from _differences("timer", own, expected)

    def _check_owners(self) -> Iterator[str]:
        for family in (*_OWNED, "l", "m"):
            for execution_id in self._families[family].keys() - self._records.keys():
                yield f"key {family}:{execution_id} belongs to no execution"

    def _check_workers(self) -> Iterator[str]:
        known = {instance.encode() for instance in self._families["worker"]}
        yield from _differences(
            "the set of workers", self._sets("workers"), {"": known} if known else {}
        )

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
    if "limited" in record:
        # A grant that came to nothing uses up an epoch.
        return leases == sorted(set(leases)) and leases[-1:] <= [epoch]
    return leases == list(range(1, epoch + 1))


def _differences(what: str, found: dict[Any, Any], expected: dict[Any, Any]) -> Iterator[str]:
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            yield f"{what} {name} is {found.get(name)}, should be {expected.get(name)}"


def _queue(record: Record) -> str:
    names = (record["lane"], record.get("requires", b""), record["tenant"])
    return "|".join(name.decode() for name in names)


def _is_end(entry: dict[str, Any]) -> bool:
    """Whether this log entry ended the execution."""
    event = entry["event"]
    if event in ("completed", "cancelled", "expired"):
        return True
    if event == "lease_expired":
        return "error" in entry
    return event in ("failed", "timed_out") and entry["state"] == "failed"


def _due(record: Record) -> float | None:
    """When the timer of an execution must fire: at the first thing that is due."""
    ended = record["state"].decode() in TERMINAL
    names = ("due",) if ended else ("due", "timeout_at", "deadline")
    return min((float(record[name]) for name in names if name in record), default=None)


def _check_state(record: Record) -> Iterator[str]:
    """Check that the fields fit the state, and that the state vector follows from them."""
    state = State(record["state"].decode())
    granted = state is State.WAITING and "due" in record
    must, must_not = _FIELDS.get("granted" if granted else state.value, _FIELDS["terminal"])
    yield from (f"is {state} without {name}" for name in must if name not in record)
    yield from (f"is {state} with {name}" for name in must_not if name in record)
    hold = Hold(record["hold"].decode()) if "hold" in record else None
    is_open = "open" in record
    if state is State.DELAYED and is_open != (hold is Hold.PAUSE):
        yield f"is held by {hold}, which does not fit its attempt"
    if state is State.ACTIVE and ("timeout_at" in record) != ("attempt_timeout" in record):
        yield "has a time-out without reason, or none"
    if is_open and ("timeout_left" in record) != ("attempt_timeout" in record):
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
    if "ended" in record and float(record.get("due", 0)) < float(record["ended"]):
        yield "is forgotten before its end"
    if "fence" in record:
        _, fence_epoch, fence_attempt = record["fence"].decode().rsplit(":", 2)
        # The epoch of a limited execution rises with its grants.
        same = int(fence_epoch) <= epoch if "limited" in record else int(fence_epoch) == epoch
        if not same or int(fence_attempt) != attempts - 1:
            yield f"has the fence {record['fence']!r} at epoch {epoch}, attempts {attempts}"
