"""What each key of a store is for: a thing with places in indexes, an index, or a thing's own key.

A thing says where it must be listed, by its `Places`. An entry of an index belongs to a thing, its
owner: if none of the owner's places is that entry, the entry is extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holdfast.store.verify import (
    bonds,
    catalog,
    executions,
    graphs,
    limits,
    queues,
    sessions,
    waits,
)
from holdfast.store.verify.drifts import Drift, Entry, in_record
from holdfast.store.verify.view import View

Places = Callable[[View, str], Iterator[Entry]]
Check = Callable[[View, str], Iterator[Drift]]
#: The kind and the name of the thing that an entry belongs to, from the name of the index, the
#: member and its value; None if no thing is known by it.
Owner = Callable[[str, bytes, float | bytes], tuple[str, str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The keys of one family."""

    #: Of an index: its type, and whose its entries are.
    index: str | None = None
    owner: Owner | None = None
    #: The entries are things: check that each has all of its places.
    things: bool = False
    #: What must hold for each entry.
    each: Check | None = None
    #: The key is a thing: where it must be listed.
    places: Places | None = None
    #: What must hold within the key and what it owns.
    check: Check | None = None
    #: The family of the thing that this key belongs to.
    of: str | None = None


def _child(view: View, child: str) -> Iterator[Entry]:
    yield from executions.entries(view, child)
    yield from graphs.entries(view, child)


def _ring(view: View, _: str) -> Iterator[Drift]:
    yield from in_record("the key ring", waits.ring_problems(view))


#: The places of things, by kind.
THINGS: dict[str, Places] = {
    "execution": executions.entries,
    "graph": graphs.entries,
    "child": _child,
    "parent": bonds.parent_entries,
    "session": sessions.entries,
    "user": catalog.user_list,
    "session_list": catalog.session_list,
    "cell": catalog.cell,
    "cause": catalog.cause,
    "thread": catalog.thread,
    "memories": catalog.memories,
    "cells": catalog.cells,
    "ready": catalog.ready,
    "turns": catalog.turns,
    "graph_tenant": catalog.graph_tenant,
    "schedule": catalog.schedule,
    "worker": catalog.worker,
    "access": catalog.access,
    "feed": catalog.feed_timer,
    "object": catalog.stored_object,
    "env": catalog.env,
    "deployment": catalog.deployment,
    "revision": catalog.revision,
    "rollout": catalog.rollout,
    "endpoint": catalog.endpoint,
    "pack": catalog.pack,
    "service": catalog.service,
    "value": catalog.value_of_pack,
    "quota": limits.quota_entries,
    "quota_timer": limits.quota_timer,
    "line": limits.line_entries,
    "waiter": limits.waiter_entries,
    "budget": limits.budget_entries,
    "reservation": limits.reservation_entries,
    "message": queues.message_entries,
    "handle": queues.handle_entries,
    "queue_timer": queues.timer_entries,
    "seen": catalog.seen,
}


def _member(kind: str) -> Owner:
    return lambda _name, member, _value: (kind, member.decode())


def _last(kind: str) -> Owner:
    """The member is `...|NAME`."""
    return lambda _name, member, _value: (kind, member.decode().rpartition("|")[2])


def _rest(kind: str) -> Owner:
    """The member is `TENANT|NAME`."""
    return lambda _name, member, _value: (kind, member.decode().partition("|")[2])


def _waitpoint(_name: str, member: bytes, _value: object) -> tuple[str, str]:
    return "execution", member.decode().rpartition("~w")[0]


def _user(name: str, member: bytes, value: float | bytes) -> tuple[str, str]:
    if isinstance(value, bytes) and value:
        return "session", value.decode()
    return "user", f"{name}|{member.decode()}"


_TIMED = {
    "x": "execution",
    "k": "worker",
    "g": "graph",
    "s": "schedule",
    "c": "session",
    "o": "parent",
    "q": "quota_timer",
    "b": "budget",
    "v": "reservation",
    "a": "access",
    "f": "feed",
    "t": "thread",
    "m": "memories",
}


def _timer(name: str, member: bytes, value: float | bytes) -> tuple[str, str] | None:
    letter, _, rest = member.decode().partition(":")
    if letter == "w":
        return _waitpoint(name, rest.encode(), value)
    return (_TIMED[letter], rest) if letter in _TIMED else ("nothing", rest)


def _index(
    kind: str, owner: Owner, *, of: str | None = None, places: Places | None = None
) -> Family:
    return Family(index=kind, owner=owner, of=of, places=places)


_FREE = Family()


def _free(*names: str) -> dict[str, Family]:
    """Families without rules."""
    return dict.fromkeys(names, _FREE)


def _owned(thing: str, names: tuple[str, ...]) -> dict[str, Family]:
    return {name: Family(of=thing) for name in names}


_EXECUTION = _member("execution")
_TIMERS: dict[str, Family] = {"timers": _index("zset", _timer)}
_COMMON: dict[str, Family] = {**_TIMERS, **_free("meta", "settings", "outbox", "clock", "ack")}

_PARTITION: dict[str, Family] = {
    **_COMMON,
    **_owned("x", executions.OWNED),
    **_owned("graph", graphs.OWNED),
    **_owned("S", sessions.OWNED),
    **_free("tails", "claim", "batch", "alias", "window", "feed", "W", "E", "pins", "pin_ends"),
    **_free(
        "N", "revclosed", "revfigures", "revleft", "revopened", "secrets", "state_meta", "unread"
    ),
    **_free("threads", "thread", "thread_marks", "checkpoints", "thread_values", "thread_written"),
    **_free("thread_writes", "thread_runs", "run_threads"),
    **_free("memories", "memory_index", "memory_spaces", "memory_due"),
    "x": Family(places=executions.entries, check=executions.drifts),
    "c": _index("zset", _EXECUTION, places=catalog.cell),
    "cause": _index("zset", _EXECUTION, places=catalog.cause),
    "causends": _index("zset", _EXECUTION),
    "causes": _index("set", lambda name, member, _: ("cause", f"{name}|{member.decode()}")),
    "cells": _index(
        "set", lambda name, member, _: ("cell", f"{name}|{member.decode()}"), places=catalog.cells
    ),
    "tenants": _index("set", _member("cells")),
    "g": _index("zset", _EXECUTION),
    "q": _index("zset", _EXECUTION, places=catalog.ready),
    "turns": _index(
        "zset", lambda name, member, _: ("ready", f"{name}|{member.decode()}"), places=catalog.turns
    ),
    "routes": _index("zset", lambda name, member, _: ("turns", f"{name}|{member.decode()}")),
    "pass": Family(of="routes"),
    "open": _index("zset", _waitpoint),
    "unarchived": _index("zset", _EXECUTION),
    "revwaits": _index("zset", _EXECUTION),
    "revruns": _index("zset", _EXECUTION),
    "bonds": Family(
        index="zset", owner=_member("child"), places=bonds.parent_entries, check=bonds.parent_drifts
    ),
    "graph": Family(places=graphs.entries, check=graphs.drifts),
    "gm": _index("zset", _EXECUTION, of="graph"),
    "gc": _index("zset", _member("graph"), places=catalog.graph_cell),
    "gtenants": _index("set", _member("graph_tenant")),
    "S": Family(places=sessions.entries, check=sessions.drifts),
    "sessions": _index("zset", _member("session"), places=catalog.session_list),
    "users": _index("hash", _user),
    "usessions": _index("zset", _member("session"), places=catalog.user_list),
    "stenants": _index("set", _member("session_list")),
    "outgoing": _index("zset", _member("session")),
    "dead": _index(
        "zset", lambda _name, member, _: ("session", member.decode().rpartition(":")[0])
    ),
    "schedule": Family(places=catalog.schedule),
    "plan": Family(of="schedule"),
    "schedules": _index("zset", _member("schedule")),
    "dues": _index("zset", _member("schedule")),
    "fired": _index("set", _EXECUTION),
    "lined": Family(index="zset", owner=_EXECUTION, check=catalog.line),
    "feeds": Family(index="hash", owner=_member("feed"), things=True),
    "state": Family(
        index="hash",
        owner=lambda name, member, _: ("value", f"{name}\0{member.decode()}"),
        things=True,
        check=catalog.state_of_pack,
    ),
    "state_due": _index("zset", lambda name, member, _: ("value", f"{name}\0{member.decode()}")),
}


def _deployment(name: str, member: bytes, _: object) -> tuple[str, str]:
    return "deployment", f"{name}|{member.decode()}"


def _deployment_tenant(name: str, member: bytes, _: object) -> tuple[str, str]:
    env_name, _, deployment_id = name.partition("|")
    return "deployment", f"{env_name}|{member.decode()}|{deployment_id}"


def _endpoint(name: str, member: bytes, _: object) -> tuple[str, str]:
    return "endpoint", f"{name}|{member.decode().partition('|')[2]}"


_GLOBAL: dict[str, Family] = {
    **_COMMON,
    **_free("audit", "tasks", "sealing", "dlog", "split", "rollouts", "archive_uses"),
    **_free("unused_archives", "queues", "claim", "alias", "feed", "feed_marks"),
    **_free("history", "history_counts"),
    "feeds": Family(index="hash", owner=_member("feed"), things=True),
    "worker": Family(places=catalog.worker),
    "workers": _index("set", _member("worker")),
    "access": Family(places=catalog.access),
    "accesses": _index("set", _member("access")),
    "services": Family(index="hash", owner=_member("service"), things=True),
    "service_expiries": _index("zset", _member("service")),
    "keyring": Family(check=_ring),
    "envs": _index("set", _member("env")),
    "env": _FREE,
    "deployment": Family(places=catalog.deployment),
    "deployments": _index("zset", _deployment),
    "dtenants": _index("set", _deployment_tenant),
    "dchanges": _index("zset", _deployment),
    "revision": Family(places=catalog.revision),
    "revisions": _index("zset", _member("revision")),
    "draining": _index("set", _last("revision")),
    "rollout": Family(places=catalog.rollout),
    "rolling": _index("set", _last("rollout")),
    "pack": Family(places=catalog.pack),
    "packs": _index("zset", _last("pack")),
    "endpoint": Family(places=catalog.endpoint),
    "endpoints": _index("zset", _endpoint),
    "o": Family(places=catalog.stored_object),
    "objects": _index("zset", _member("object")),
}


def _waiter(name: str, member: bytes, _: object) -> tuple[str, str]:
    return "waiter", f"{name} {member.decode()}"


_LIMITS: dict[str, Family] = {
    **_COMMON,
    "waits": Family(index="hash", owner=_waiter, things=True),
    "wait": _index("zset", _waiter),
}
_QUOTAS: dict[str, Family] = {
    **_LIMITS,
    **_free("held", "admissions", "void", "admit", "claim"),
    "wait": _index("zset", _waiter, places=limits.line_entries),
    "quota": Family(places=limits.quota_entries),
    "quotas": _index("zset", _rest("quota")),
    "queues": _index("set", _member("line")),
    "promises": Family(places=limits.quota_timer),
}
_BUDGETS: dict[str, Family] = {
    **_LIMITS,
    **_free("address", "applied", "breaches", "spent", "total"),
    "budget": Family(places=limits.budget_entries, check=limits.budget_drifts),
    "budgets": _index("zset", _rest("budget")),
    "reservation": Family(places=limits.reservation_entries),
}


def _queue_timer(name: str) -> Places:
    return lambda view, _: queues.timer_entries(view, name)


def _group_timer(name: str) -> Places:
    return lambda view, group: queues.timer_entries(view, f"{name}|{group}")


_MESSAGE = _member("message")
_QUEUE: dict[str, Family] = {
    **_free("queue", "dropped", "outbox", "sent", "inbox", "gone", "sweeps", "claim"),
    **_free("tally", "consumers", "clock", "meta", "ack"),
    "groups": Family(index="zset", things=True, each=queues.group_drifts),
    "settled": Family(places=_queue_timer("settled")),
    "messages": Family(index="hash", owner=_MESSAGE, things=True),
    "bodies": _index("hash", _MESSAGE),
    "later": _index("zset", _MESSAGE, places=_queue_timer("later")),
    "ends": _index("zset", _MESSAGE, places=_queue_timer("ends")),
    "arrivals": _index("zset", _MESSAGE),
    "holds": _index("hash", _MESSAGE),
    "handles": _index("hash", lambda _name, _member, value: ("handle", _text(value))),
    "seen": Family(index="hash", owner=_member("seen"), things=True),
    "seen_until": _index("zset", _member("seen"), places=_queue_timer("seen")),
    **{
        family: _index("zset", _MESSAGE, places=_group_timer(family))
        for family in queues.TIMED_OF_GROUP
    },
    "open": _index("zset", _MESSAGE),
    "blocked": _index("zset", _MESSAGE),
    "late": _index("zset", _MESSAGE),
    "tries": _index("hash", _MESSAGE),
    "lines": _index("zset", lambda _name, member, _value: ("message", queues.line_of(member))),
    "busy": _index("hash", lambda _name, _member, value: ("message", _text(value))),
    "timers": _index("zset", _member("queue_timer")),
}


def _text(value: float | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


#: The families by the kind of partition, which is the first letter in the braces of its tag.
FAMILIES: dict[str, dict[str, Family]] = {
    "p": _PARTITION,
    "g": _GLOBAL,
    "q": _QUOTAS,
    "b": _BUDGETS,
    "m": _QUEUE,
    "k": _free("blob", "ack"),
}
