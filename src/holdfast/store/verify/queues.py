"""Rules of message queues: where each message is, in each group, and what is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.store.verify.drifts import Drift, Entry, Kind, put, remove
from holdfast.store.verify.view import View

#: A set with more members is not read as a whole: that would take long. A group with more messages
#: that were handed out has those of its consumers not counted, and one with more messages with keys
#: has their lines not examined.
MOST_DELIVERIES = 5000
#: Where a message of a group can be: in one of them. The first is right if it is in several.
PLACES = ("flight", "retry", "blocked", "open")
#: Sets with times, and the timer that watches each.
TIMED = {"later": "later", "ends": "ends", "seen_until": "seen", "settled": "settled"}
TIMED_OF_GROUP = ("flight", "retry", "ttl")

_WORK_GROUP = "default"
_SHIFT = 1e15
_ENDINGS = ("acked", "dead", "dropped", "expired", "purged")
_unpack = msgspec.msgpack.Decoder().decode


class _Message(msgspec.Struct):
    """What is known of a message. The envelope of a dead letter is not text, and is not read."""

    rank: float | None = None
    position: float | None = None
    ends: float | None = None
    key: str | None = None
    only: str | None = None


_unpack_message = msgspec.msgpack.Decoder(_Message).decode


def message_entries(view: View, message_id: str) -> Iterator[Entry]:
    """Return the places of a message."""
    member = message_id.encode()
    view.prefetch((("m", "messages", member), ("m", "queue", b"mode"), ("v", "groups", b"")))
    packed = view.member("messages", member)
    if packed is None:
        return
    rec = _unpack_message(packed)
    yield Entry("bodies", member, is_data=True)
    yield Entry("messages", member, packed)
    # One that was not placed yet waits for its time.
    if rec.position is None or rec.rank is None:
        yield Entry("later", member, default=0.0)
        if rec.ends is not None:
            yield Entry("ends", member, rec.ends)
        return
    groups = groups_of(view)
    _announce(view, groups, member)
    holding = [group for group in groups if _place(view, group, member) is not None]
    if _is_work(view):
        holding = [_WORK_GROUP]
    for group in holding:
        yield from _in_group(view, group, member, rec)
    if not _is_work(view):
        yield from _in_fanout(view, member, rec, len(holding))


def group_drifts(view: View, group: str) -> Iterator[Drift]:
    """Count deliveries, compare what went in with what came out, and look who is first in lines."""
    if group == "":
        return
    _announce_sizes(view, group)
    yield from _check_lines(view, group)
    yield from _check_consumers(view, group)
    yield from _check_tally(view, group)


def groups_of(view: View) -> list[str]:
    """Return the groups of a queue."""
    return sorted(name.decode() for name in view.value("groups") or {})


def try_of(view: View, group: str, member: bytes) -> list[Any] | None:
    """Return what is known of the hand-outs of a message: number, first, handle, consumer, ..."""
    packed = view.member(f"tries:{group}", member)
    return None if packed is None else _unpack(packed)


def handle_entries(view: View, place: str) -> Iterator[Entry]:
    """Return the handle of the last hand-out of a message: `GROUP|ID`."""
    group, _, message_id = place.partition("|")
    found = try_of(view, group, message_id.encode())
    if found is not None and found[2]:
        yield Entry("handles", _bytes(found[2]), place.encode())


def timer_entries(view: View, name: str) -> Iterator[Entry]:
    """Return the timer that watches a set of times; it may be set to an earlier time."""
    kind, _, group = name.partition("|")
    key = next((key for key, timer in TIMED.items() if timer == kind), kind)
    if kind == "sweep":
        key = "sweeps"
    if kind == "outbox":
        # It is removed when everything was sent, which only the sender knows.
        yield Entry("timers", b"outbox", optional=True)
        return
    if kind not in (*TIMED.values(), *TIMED_OF_GROUP, "sweep"):
        return
    needed = view.has(f"{key}:{group}" if group else key)
    # A set that became empty keeps its timer until it fires.
    yield Entry("timers", name.encode(), optional=not needed, default=0.0)


def line_of(member: bytes) -> str:
    """Return the message of a member of `lines`: KEY, rank and id with zero bytes between."""
    return member.split(b"\0")[2].decode()


def _is_work(view: View) -> bool:
    return bool(view.member("queue", b"mode") == b"work")


def _announce(view: View, groups: list[str], member: bytes) -> None:
    view.prefetch(
        ("m", f"{family}:{group}", member)
        for group in groups
        for family in (*PLACES, "tries", "ttl")
    )


def _place(view: View, group: str, member: bytes) -> str | None:
    """Return where a message is in a group."""
    found = (place for place in PLACES if view.member(f"{place}:{group}", member) is not None)
    return next(found, None)


def _in_group(view: View, group: str, member: bytes, rec: _Message) -> Iterator[Entry]:
    place, rank = _place(view, group, member), rec.rank or 0.0
    found = try_of(view, group, member)
    if place == "flight" and found is not None and found[5]:
        yield Entry(f"flight:{group}", member, float(found[5]))
    elif place in ("flight", "retry"):
        yield Entry(f"{place}:{group}", member)
    else:
        # One that is nowhere can be handed out again.
        away = "blocked" if rec.key is not None and place is None else "open"
        yield Entry(f"{place or away}:{group}", member, rank)
    if found is not None:
        yield Entry(f"tries:{group}", member)
        if found[6]:
            yield Entry(f"late:{group}", member, optional=True)
    if rec.ends is not None:
        over = view.now_ms is None or rec.ends <= view.now_ms
        yield Entry(f"ttl:{group}", member, rec.ends, optional=over)
    if rec.key is not None:
        key = rec.key.encode()
        line = b"%s\0%016.0f\0%s" % (key, rank + _SHIFT, member)
        yield Entry(f"lines:{group}", line, 0.0)
        if place in ("flight", "retry"):
            yield Entry(f"busy:{group}", key, member)


def _in_fanout(view: View, member: bytes, rec: _Message, holding: int) -> Iterator[Entry]:
    if holding:
        yield Entry("holds", member, str(holding).encode())
    over = rec.ends is not None and (view.now_ms is None or rec.ends <= view.now_ms)
    cursors = (view.value("groups") or {}).values()
    awaited = rec.only is None and any(cursor < (rec.position or 0) for cursor in cursors)
    yield Entry("arrivals", member, rec.position, optional=over or not awaited)
    if rec.ends is not None:
        yield Entry("ends", member, rec.ends, optional=True)


def _announce_sizes(view: View, group: str) -> None:
    """Announce what the checks of a group need in any case, before any of them reads much."""
    families = (*PLACES, "tries", "lines", "busy", "consumers")
    sizes = [f"{family}:{group}" for family in families]
    view.prefetch(("n", key, b"") for key in (*sizes, "later", "arrivals", "gone"))
    view.prefetch(("v", key, b"") for key in ("tally:", f"tally:{group}", f"consumers:{group}"))
    view.prefetch((("m", "queue", b"mode"), ("m", "groups", group.encode())))
    # One read of a whole set is far less work for the server than one of each member.
    held, lined = ("flight", "tries"), ("lines", "blocked", "busy")
    view.prefetch(
        ("v", f"{family}:{group}", b"")
        for together in (held, lined)
        if _are_small(view, group, together)
        for family in together
    )


def _are_small(view: View, group: str, families: tuple[str, ...]) -> bool:
    return all(view.size(f"{family}:{group}") <= MOST_DELIVERIES for family in families)


def _check_lines(view: View, group: str) -> Iterator[Drift]:
    """Check that the first message of each ordering key is offered, if none of them is busy."""
    if not _are_small(view, group, ("lines", "blocked", "busy")):
        return
    heads: dict[bytes, bytes] = {}
    for line in sorted(view.value(f"lines:{group}") or {}):
        key, _, member = line.split(b"\0", 2)
        heads.setdefault(key, member)
    blocked, busy = f"blocked:{group}", f"busy:{group}"
    for key, member in heads.items():
        rank = view.member(blocked, member)
        if rank is not None and view.member(busy, key) is None:
            text = f"has {member.decode()}, which is the first of its key and waits for nothing"
            offer = Entry(f"open:{group}", member, rank)
            repairs = (remove(blocked, member, "zset"), put(offer, "zset"))
            yield Drift(Kind.WRONG, f"index {blocked}", text, repairs)


def _check_consumers(view: View, group: str) -> Iterator[Drift]:
    if not _are_small(view, group, ("flight", "tries")):
        return
    flying = list(view.value(f"flight:{group}") or {})
    tries = [try_of(view, group, member) for member in flying]
    held = Counter(_bytes(found[3]) for found in tries if found is not None and found[3])
    says = {name: int(n) for name, n in (view.value(f"consumers:{group}") or {}).items()}
    for name in sorted(held.keys() | says.keys()):
        if held[name] != says.get(name, 0):
            text = f"{name.decode()} is said to hold {says.get(name, 0)}, holds {held[name]}"
            key = f"consumers:{group}"
            repair = ("HSET", key, name, str(held[name])) if held[name] else ("HDEL", key, name)
            yield Drift(Kind.COUNT, f"group {group}: consumer", text, (repair,))


def _check_tally(view: View, group: str) -> Iterator[Drift]:
    whole, own = _tally(view, ""), _tally(view, group)
    pushed = whole["pushed"] - whole["addressed"] - own["base"] + own["extra"]
    there = sum(view.size(f"{place}:{group}") for place in PLACES) + view.size("later")
    if not _is_work(view):
        # What it has yet to come to is behind its cursor: counted from the whole sets.
        if max(view.size("arrivals"), view.size("gone")) > MOST_DELIVERIES:
            return
        cursor = view.member("groups", group.encode()) or 0.0
        for key in ("arrivals", "gone"):
            there += sum(score > cursor for score in (view.value(key) or {}).values())
    been = sum(own[name] for name in _ENDINGS)
    if pushed != there + been:
        base = own["base"] + pushed - there - been
        text = f"counts {pushed} pushed, but {there} are there and {been} have left"
        repair = ("HSET", f"tally:{group}", "base", str(base))
        yield Drift(Kind.COUNT, f"group {group}:", text, (repair,))


def _tally(view: View, group: str) -> Counter[str]:
    counts = view.record(f"tally:{group}") or {}
    return Counter({name: int(value) for name, value in counts.items()})


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
