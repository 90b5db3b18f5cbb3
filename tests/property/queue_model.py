"""A queue as it should be: plain lists and dictionaries, no storage, no clever structures."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.messages import NewMessage
from holdfast.model.queues import DEFAULT_GROUP, QueueSettings
from tests.property.comparing import Refused


@dataclass
class Part:
    """A message as one group has it, until the group is done with it."""

    state: str = "ready"
    attempts: int = 0
    handle: str | None = None
    consumer: str = ""
    since: int = 0
    due: int = 0
    late: bool = False


@dataclass
class Stored:
    """A message."""

    id: str
    payload: bytes
    key: str | None
    digest: str | None
    ends: int | None
    #: When it arrives, if it is delayed.
    due: int | None = None
    rank: float = 0
    position: int = 0
    side: str = "right"
    priority: int = 0
    parts: dict[str, Part] = field(default_factory=dict)
    #: It is for one group only, so later ones do not get it.
    only: str | None = None


class QueueModel:
    """One queue."""

    def __init__(self, settings: QueueSettings, now: int) -> None:
        self.settings = settings
        self.now = now
        self.messages: dict[str, Stored] = {}
        self.groups: list[str] = [DEFAULT_GROUP] if settings.mode == "work" else []
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in self.groups}
        self.whole: Counter[str] = Counter()
        self.seen: dict[str, tuple[str, str, int]] = {}
        self.settled: dict[tuple[str, str], int] = {}
        self.issued: set[str] = set()
        self.paused: set[str] = set()
        #: What went to the dead-letter queue and is not there yet: id and group.
        self.letters: list[tuple[str, str]] = []
        self._stamps = itertools.count(1)
        self._lows = itertools.count(1)

    # Coming in

    def push(self, item: NewMessage, minted: str) -> tuple[str, bool]:
        """Return the id, and whether it was known."""
        message_id = item.id or minted
        named = item.id is not None
        seen = None
        if named or item.dedup is not None:
            seen = f"i:{item.id}" if item.dedup is None else f"d:{item.dedup}"
        known = self._known(seen, message_id, named=named)
        if known is not None:
            if known[1] != item.digest():
                raise Refused("dedup_conflict")
            return known[0], True
        if self.settings.max_size is not None and len(self.messages) >= self.settings.max_size:
            raise Refused("queue_full")
        if seen is not None and self.settings.dedup_window_ms:
            until = self.now + self.settings.dedup_window_ms
            self.seen[seen] = (message_id, item.digest(), until)
        self._add(item, message_id, digest=item.digest() if seen else None)
        return message_id, False

    def _known(self, seen: str | None, message_id: str, *, named: bool) -> tuple[str, str] | None:
        if seen in self.seen and self.seen[seen][2] > self.now:
            return self.seen[seen][0], self.seen[seen][1]
        if named and message_id in self.messages:
            return message_id, self.messages[message_id].digest or ""
        return None

    def _add(self, item: NewMessage, message_id: str, *, digest: str | None) -> None:
        ttl = item.ttl_ms if item.ttl_ms is not None else self.settings.ttl_ms
        stored = Stored(
            message_id,
            item.payload,
            item.key,
            digest,
            None if ttl is None else self.now + ttl,
            side=item.side,
            priority=item.priority,
        )
        self.messages[message_id] = stored
        self.whole["pushed"] += 1
        for group in self.groups:
            self.counts[group]["pushed"] += 1
        if item.delay_ms:
            stored.due = self.now + item.delay_ms
        else:
            self._arrive(stored)

    def redriven(self, message_id: str, payload: bytes, key: str | None, group: str) -> None:
        """Take a dead letter back, for the group that gave it up if it is still there."""
        only = group if self.settings.mode == "fanout" and group in self.groups else None
        ttl = self.settings.ttl_ms
        stored = Stored(
            message_id, payload, key, None, None if ttl is None else self.now + ttl, only=only
        )
        self.messages[message_id] = stored
        self.whole["pushed"] += 1
        for name in self.groups if only is None else [only]:
            self.counts[name]["pushed"] += 1
        self._arrive(stored)

    def moved_away_and_back(self, limit: int) -> int:
        """Return how many messages went to another queue, and came back with their time."""
        self.fire()
        ready = [m for m in self.messages.values() if m.parts and self._is_ready(m)]
        gone = sorted(ready, key=lambda m: (m.rank, m.id))[:limit]
        for stored in gone:
            self._retire(stored, DEFAULT_GROUP, "acked")
        for stored in gone:
            back = Stored(stored.id, stored.payload, stored.key, None, stored.ends)
            self.messages[back.id] = back
            self.whole["pushed"] += 1
            self.counts[DEFAULT_GROUP]["pushed"] += 1
            self._arrive(back)
        return len(gone)

    def _is_ready(self, stored: Stored) -> bool:
        return stored.parts[DEFAULT_GROUP].state == "ready"

    def _arrive(self, stored: Stored) -> None:
        stored.due = None
        stored.position = self.now * 1000 + next(self._stamps)
        stored.rank = stored.position if stored.side == "right" else -next(self._lows)
        if self.settings.priority:
            stored.rank -= stored.priority * self.settings.ageing_ms * 1000
        groups = self.groups if stored.only is None else [stored.only]
        stored.parts = {group: Part() for group in groups}

    # Going out

    def _retire(self, stored: Stored, group: str, fate: str) -> None:
        del stored.parts[group]
        self.counts[group][fate] += 1
        self._collect(stored)

    def _collect(self, stored: Stored) -> None:
        if not stored.parts and stored.due is None:
            del self.messages[stored.id]
            self.whole["expired" if self._is_over(stored) else "collected"] += 1

    def _is_over(self, stored: Stored) -> bool:
        return stored.ends is not None and stored.ends <= self.now

    def _give_up(self, stored: Stored, group: str) -> None:
        if self.settings.dead_letter is not None:
            self.letters.append((stored.id, group))
            self._retire(stored, group, "dead")
        else:
            self._retire(stored, group, "dropped")

    def _come_back(self, stored: Stored, group: str, *, delay: int = 0, late: bool = False) -> None:
        part = stored.parts[group]
        part.late = late
        if not late:
            part.handle = None
        if self._is_over(stored):
            self._retire(stored, group, "expired")
        elif part.attempts >= self.settings.max_attempts:
            self._give_up(stored, group)
        else:
            part.state, part.due = ("retry", self.now + delay) if delay else ("ready", 0)

    def fire(self) -> None:
        """Let happen what is due."""
        waiting = [m for m in self.messages.values() if m.due is not None]
        for stored in sorted(waiting, key=lambda m: (m.due or 0, m.id)):
            if self._is_over(stored):
                stored.due = None
                for group in self.groups:
                    self.counts[group]["expired"] += 1
                self._collect(stored)
            elif stored.due is not None and stored.due <= self.now:
                self._arrive(stored)
        for stored in list(self.messages.values()):
            if stored.due is None:
                self._fire(stored)

    def _fire(self, stored: Stored) -> None:
        for group, part in list(stored.parts.items()):
            if part.state == "flight":
                if part.due <= self.now:
                    self._come_back(stored, group, late=True)
            elif self._is_over(stored):
                self._retire(stored, group, "expired")
            elif part.state == "retry" and part.due <= self.now:
                part.state = "ready"
        if stored.id in self.messages and not stored.parts and self._is_over(stored):
            self._collect(stored)

    # Consumers

    def _open(self, group: str) -> list[Stored]:
        """Return what may be handed out: of each key the first, if none is under way."""
        parts = [(m, m.parts[group]) for m in self.messages.values() if group in m.parts]
        busy = {m.key for m, part in parts if part.state != "ready" and m.key is not None}
        found: list[Stored] = []
        heads: set[str] = set()
        for stored, part in sorted(parts, key=lambda pair: (pair[0].rank, pair[0].id)):
            if part.state != "ready" or stored.key in busy or stored.key in heads:
                continue
            if stored.key is not None:
                heads.add(stored.key)
            found.append(stored)
        return found

    def check_group(self, group: str) -> None:
        """Raise for a group that does not exist."""
        if group not in self.groups:
            raise Refused("group_not_found")

    def read(self, group: str, consumer: str, count: int, side: str) -> list[tuple[str, int]]:
        """Return ids and attempts of what is handed out."""
        self.check_group(group)
        self.fire()
        if "" in self.paused or group in self.paused:
            return []
        flying = [
            m.parts[group]
            for m in self.messages.values()
            if group in m.parts and m.parts[group].state == "flight"
        ]
        if self.settings.max_in_flight is not None:
            count = min(count, self.settings.max_in_flight - len(flying))
        if self.settings.max_in_flight_per_consumer is not None:
            own = sum(1 for part in flying if part.consumer == consumer)
            count = min(count, self.settings.max_in_flight_per_consumer - own)
        found: list[tuple[str, int]] = []
        # As many as are wanted are taken at once; those whose budget is spent make room for more.
        while len(found) < count and (offered := self._open(group)):
            ends = offered[::-1] if side == "right" else offered
            for stored in ends[: count - len(found)]:
                if stored.parts[group].attempts >= self.settings.max_attempts:
                    self._give_up(stored, group)
                else:
                    found.append((stored.id, self._hand_out(stored, group, consumer)))
        return found

    def _hand_out(self, stored: Stored, group: str, consumer: str) -> int:
        part = stored.parts[group]
        part.state, part.consumer, part.late = "flight", consumer, False
        part.attempts += 1
        part.since, part.due = self.now, self.now + self.settings.lock_ms
        return part.attempts

    def name_handles(self, group: str, handles: Iterable[tuple[str, str]]) -> None:
        """Note the handles that the store made for what was handed out."""
        for message_id, handle in handles:
            self.messages[message_id].parts[group].handle = handle
            self.issued.add(handle)

    def claim(self, group: str, consumer: str, idle: int, count: int) -> list[tuple[str, int]]:
        """Return ids and attempts of what is taken over."""
        self.check_group(group)
        self.fire()
        since = self.now - idle
        late = [m for m in self.messages.values() if group in m.parts and m.parts[group].late]
        late.sort(key=lambda m: (m.parts[group].since, m.id))
        offered = {m.id for m in self._open(group)}
        taken = [m for m in late if m.parts[group].since <= since][:count]
        taken = [m for m in taken if m.id in offered]
        flying = [
            m
            for m in self.messages.values()
            if group in m.parts and m.parts[group].state == "flight"
        ]
        flying.sort(key=lambda m: (m.parts[group].due, m.id))
        idle_ones = [m for m in flying[: 10 * count] if m.parts[group].since <= since]
        taken += idle_ones[: count - len(taken)]
        found = []
        for stored in taken:
            if self._is_over(stored):
                self._retire(stored, group, "expired")
            elif stored.parts[group].attempts >= self.settings.max_attempts:
                self._give_up(stored, group)
            else:
                found.append((stored.id, self._hand_out(stored, group, consumer)))
        return found

    def _find(self, handle: str) -> tuple[Stored, str] | None:
        for stored in self.messages.values():
            for group, part in stored.parts.items():
                if part.handle == handle:
                    if part.state == "flight" and part.due <= self.now:
                        self._come_back(stored, group, late=True)
                        return self._find(handle)
                    return stored, group
        return None

    def _refuse(self, handle: str) -> Refused:
        return Refused("stale_delivery" if handle in self.issued else "unknown_delivery")

    def settle(self, verb: str, handle: str, delay: int | None) -> bool:
        """Settle a delivery; returns whether it was settled before."""
        found = self._find(handle)
        if found is None or (found[0].parts[found[1]].late and verb != "ack"):
            if self.settled.get((verb, handle), 0) > self.now:
                return True
            raise self._refuse(handle)
        stored, group = found
        self.settled[verb, handle] = self.now + max(self.settings.lock_ms, 30_000)
        if verb == "ack":
            self._retire(stored, group, "acked")
        elif verb == "reject":
            self._give_up(stored, group)
        else:
            wait = 0
            if verb == "nack":
                wait = self._backoff(stored.parts[group].attempts) if delay is None else delay
            self._come_back(stored, group, delay=wait)
        return False

    def _backoff(self, attempts: int) -> int:
        waits = self.settings.backoff
        return waits[min(attempts, len(waits)) - 1] if waits else 0

    def extend(self, handle: str, ms: int | None) -> int:
        """Return the new deadline."""
        found = self._find(handle)
        if found is None or found[0].parts[found[1]].late:
            raise self._refuse(handle)
        part = found[0].parts[found[1]]
        part.since, part.due = self.now, self.now + (ms or self.settings.lock_ms)
        return part.due

    # Operators

    def add_group(self, group: str, start: str, after: str | None) -> bool:
        """Return whether it is new."""
        if group in self.groups:
            return False
        self.fire()
        position: float = float("-inf") if start == "first" else float("inf")
        if after is not None:
            if after not in self.messages or self.messages[after].due is not None:
                raise Refused("message_not_found")
            position = self.messages[after].position
        self.groups.append(group)
        self.counts[group] = Counter()
        for stored in self.messages.values():
            if stored.due is not None:
                self.counts[group]["pushed"] += 1
            elif stored.only is None and stored.position > position and not self._is_over(stored):
                stored.parts[group] = Part()
                self.counts[group]["pushed"] += 1
        return True

    def remove_group(self, group: str) -> None:
        """Remove a group."""
        self.check_group(group)
        self.groups.remove(group)
        self.paused.discard(group)
        del self.counts[group]
        for stored in list(self.messages.values()):
            if stored.parts.pop(group, None) is not None:
                self._collect(stored)

    def purge(self) -> int:
        """Return how many messages were removed."""
        for group in self.groups:
            self.counts[group]["purged"] += sum(
                1 for m in self.messages.values() if group in m.parts or m.due is not None
            )
        purged = len(self.messages)
        self.whole["purged"] += purged
        self.messages.clear()
        return purged

    # Asking

    def stats(self) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        """Return the counts of the queue and of its groups."""
        self.fire()
        whole = {name: self.whole[name] for name in ("pushed", "collected", "expired", "purged")}
        whole["stored"] = len(self.messages)
        return whole, {group: self._group_stats(group) for group in self.groups}

    def _group_stats(self, group: str) -> dict[str, int]:
        states: Counter[str] = Counter(
            "delayed" if m.due is not None else m.parts[group].state
            for m in self.messages.values()
            if m.due is not None or group in m.parts
        )
        own = self.counts[group]
        fates = ("pushed", "acked", "dead", "dropped", "expired", "purged")
        return {
            **{name: own[name] for name in fates},
            "ready": states["ready"],
            "delayed": states["delayed"] + states["retry"],
            "in_flight": states["flight"],
        }

    def handles(self, wanted: Callable[[Part], bool]) -> list[str]:
        """Return handles of parts of a kind."""
        return [
            part.handle
            for stored in self.messages.values()
            for part in stored.parts.values()
            if part.handle is not None and wanted(part)
        ]

    def in_order(self, group: str) -> list[Any]:
        """Return what is ready, in the order of ranks."""
        ready = [
            m
            for m in self.messages.values()
            if group in m.parts and m.parts[group].state == "ready"
        ]
        return [m.id for m in sorted(ready, key=lambda m: (m.rank, m.id))]
