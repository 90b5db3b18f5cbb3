"""Rules of waits (DESIGN, section 5, 5): waitpoints, signals, and conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from holdfast.model.states import TERMINAL
from holdfast.store.verify.drifts import Entry
from holdfast.store.verify.sessions import HOLDS
from holdfast.store.verify.view import Record, View

#: The log keeps this many entries; a longer one has lost its beginning.
LOG_ENTRIES = 1000
#: What a closed waitpoint can be closed by.
WHYS = {"resumed", "expired", "revoked", "ended"}

_unpack = msgspec.msgpack.Decoder().decode


class Waiting:
    """What one execution keeps about its waits: points by number, signals in order, the wait."""

    def __init__(self, view: View, execution_id: str, record: Record) -> None:
        self.id = execution_id
        self.record = record
        self.state = record["state"].decode()
        #: Suspended by a wait with a condition: one for a message has none.
        self.suspended = self.state == "suspended" and record.get("hold") not in HOLDS
        self._raw: dict[bytes, bytes] = dict(view.value(f"p:{execution_id}") or {})
        self.living = [int(n) for n in self._raw.pop(b"living", b"").split(b",") if n]
        self.points = {int(number): _unpack(packed) for number, packed in self._raw.items()}
        self.signals = [_unpack(packed) for packed in view.value(f"z:{execution_id}") or []]
        self.keys = {name: int(n) for name, n in (view.value(f"k:{execution_id}") or {}).items()}
        packed = view.value(f"y:{execution_id}")
        self.wait: dict[str, Any] | None = _unpack(packed) if packed else None
        self.log = [_unpack(entry) for entry in view.value(f"l:{execution_id}") or []]

    def problems(self, now_ms: int | None) -> Iterator[str]:
        """Say what is wrong."""
        yield from self._check_points(now_ms)
        yield from self._check_signals()
        yield from self._check_held()
        yield from self._check_wait(now_ms)
        yield from self._check_history()

    def _check_points(self, now_ms: int | None) -> Iterator[str]:
        if sorted(self.points) != list(range(1, int(self.record.get("waitpoints", 0)) + 1)):
            yield f"has the waitpoints {sorted(self.points)}, its record says otherwise"
        alive = [number for number, point in self.points.items() if point["state"] != "closed"]
        if sorted(self.living) != sorted(alive):
            yield f"lists the waitpoints {self.living} as living, but these live: {sorted(alive)}"
        # One that has expired does not live any more, though its timer may be late.
        names = Counter(
            self.points[number]["name"]
            for number in alive
            if now_ms is None or self.points[number].get("until", now_ms + 1) > now_ms
        )
        yield from (f"has {n} living waitpoints {name}" for name, n in names.items() if n > 1)
        if alive and self.state in TERMINAL:
            yield f"has ended with the living waitpoints {alive}"
        for number, point in self.points.items():
            closed = point["state"] == "closed"
            if closed != ("closed" in point) or closed != (point.get("why") in WHYS):
                yield f"closed its waitpoint {number} or not: {point}"
            if point["state"] != "pending" and "held" in point:
                yield f"holds signals at its waitpoint {number}, which is {point['state']}"
            waited = self.wait["points"] if self.wait and self.suspended else []
            if (point["state"] == "open") and number not in waited:
                yield f"has the open waitpoint {number} without waiting for it"
            if (point["state"] == "pending") and number in waited:
                yield f"waits for its waitpoint {number}, which is not open"

    def _check_signals(self) -> Iterator[str]:
        if len(self.signals) != int(self.record.get("signals", 0)):
            yield f"has {len(self.signals)} signals, its record says otherwise"
        expected = {
            f"{signal['point']}|{signal['key']}".encode(): number
            for number, signal in enumerate(self.signals, 1)
            if "point" in signal
        }
        if self.keys != expected:
            yield f"remembers the keys {self.keys} of its signals, should be {expected}"
        if len(expected) != sum("point" in signal for signal in self.signals):
            yield "counted a key twice"
        resumed = Counter(
            signal["point"]
            for signal in self.signals
            if signal["effect"] == "resumed" and "point" in signal
        )
        for number, times in resumed.items():
            if times > 1 or self.points[number].get("why") != "resumed":
                yield f"was resumed {times} times by its waitpoint {number}"

    def _check_held(self) -> Iterator[str]:
        for number, point in self.points.items():
            if point["state"] != "pending":
                continue
            buffered = [
                n
                for n, signal in enumerate(self.signals, 1)
                if signal.get("point") == number and signal["effect"] == "buffered"
            ]
            if list(point.get("held", [])) != buffered:
                yield f"holds {point.get('held')} at its waitpoint {number}, should be {buffered}"

    def _check_wait(self, now_ms: int | None) -> Iterator[str]:
        if self.wait is None:
            if self.suspended or "resumed" in self.record:
                yield "has no wait"
            return
        suspended = self.suspended
        # One that its execution's end cut short has no signals either.
        if (suspended and "signals" in self.wait) or (
            "resumed" in self.record and "signals" not in self.wait
        ):
            yield f"is {self.state}, its wait says otherwise"
        if suspended:
            for _, numbers in _items(self.wait["matches"]):
                if len(set(numbers)) < len(numbers):
                    yield f"counts signals twice: {numbers}"
            time = -1.0 if now_ms is None else now_ms
            due = float(self.record.get("due", "inf"))
            if time < due and _holds(self.wait["tree"], self.wait, time) is not None:
                yield "waits though its condition holds"
        for number in self.wait.get("signals", ()):
            if not 1 <= number <= len(self.signals):
                yield f"hands out the signal {number}, which does not exist"

    def _check_history(self) -> Iterator[str]:
        """Each wait ends once: woken, or with its execution."""
        if len(self.log) >= LOG_ENTRIES:
            return
        waiting = False
        for entry in self.log:
            event = entry["event"]
            if event == "suspended":
                if waiting:
                    yield "was suspended twice at once"
                waiting = True
            elif event == "woken" and entry["by"] != "early":
                if not waiting:
                    yield "was woken twice"
                waiting = False
            elif event == "resumed" and waiting:
                yield "was claimed while it was suspended"
            elif event in ("cancelled", "expired", "failed"):
                waiting = False
        if waiting != self.suspended:
            yield f"is {self.state}, its history says otherwise"


def problems(view: View, execution_id: str, record: Record) -> Iterator[str]:
    """Return what is wrong with the waits of an execution."""
    yield from Waiting(view, execution_id, record).problems(view.now_ms)


def entries(view: View, execution_id: str, record: Record) -> Iterator[Entry]:
    """Return the places of its waitpoints in lists and timers."""
    for number, point in _points(view, execution_id).items():
        if point["state"] == "closed":
            continue
        member = f"{execution_id}~w{number}".encode()
        for tenant in (record["tenant"].decode(), ""):
            yield Entry(f"open:{tenant}", member, float(point["stamp"]))
        if "until" in point:
            yield Entry("timers", b"w:" + member, float(point["until"]))


def _points(view: View, execution_id: str) -> dict[int, dict[str, Any]]:
    """Return the waitpoints of an execution by number."""
    packed = view.value(f"p:{execution_id}") or {}
    return {int(number): _unpack(p) for number, p in packed.items() if number != b"living"}


def ring_problems(view: View) -> Iterator[str]:
    """Return what is wrong with the keys that sign tokens of waitpoints."""
    ring = {name: value.decode() for name, value in (view.record("keyring") or {}).items()}
    kids = {name.removeprefix("secret:") for name in ring if name.startswith("secret:")}
    dated = {name.removeprefix("until:") for name in ring if name.startswith("until:")}
    if ring.get("current") not in kids:
        yield f"the current key {ring.get('current')} has no secret"
    if dated != kids - {ring.get("current")}:
        yield f"of the keys {sorted(kids)} these have an end: {sorted(dated)}"


def _items(value: Any) -> Sequence[tuple[int, Any]]:
    """Return a Lua table with integer keys as pairs; it is a list or a mapping."""
    return list(value.items()) if isinstance(value, dict) else list(enumerate(value, 1))


def _holds(node: Mapping[str, Any], wait: Mapping[str, Any], now: float) -> set[int] | None:
    """Return the signals by which a node of a condition holds, or None."""
    if node["op"] == "leaf":
        return set(dict(_items(wait["matches"]))[node["leaf"]]) or None
    if node["op"] == "after":
        return set() if node["time"] <= now else None
    parts = [found for one in node["of"] if (found := _holds(one, wait, now)) is not None]
    together = set().union(*parts)
    have = len(parts)
    if by := node.get("by"):
        kinds = {
            "sources": dict(_items(wait["sources"])),
            "waitpoints": dict(_items(wait["places"])),
        }
        have = len({kinds[by][n] if by in kinds else n for n in together})
    least = len(node["of"]) if node["op"] == "all" else node.get("n", 1)
    return together if have >= least else None
