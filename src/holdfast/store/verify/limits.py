"""Rules of quotas and budgets, within their own partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from holdfast.store.verify.drifts import Drift, Entry, Kind
from holdfast.store.verify.view import Record, View

#: A partition with more timers has its reservations not added up: that would occupy the server.
MOST_TIMERS = 5000
#: A budget has fewer ancestors than this.
_DEEPEST = 16


def quota_entries(view: View, quota_id: str) -> Iterator[Entry]:
    """Return the place of a quota in the list."""
    tenant = view.member(f"quota:{quota_id}", b"tenant")
    if tenant is not None:
        yield Entry("quotas", tenant + b"|" + quota_id.encode(), 0.0)


def line_entries(view: View, name: str) -> Iterator[Entry]:
    """Return what a line of executions needs: to be found by its quota."""
    quota_id, has_line = name.split("#", maxsplit=1)[0], view.has(f"wait:{name}")
    if has_line or view.has(f"quota:{quota_id}"):
        # The name of a line stays when its last execution leaves without having been let in.
        yield Entry(f"queues:{quota_id}", name.encode(), optional=not has_line)


def waiter_entries(view: View, place: str) -> Iterator[Entry]:
    """Return the two places of an execution that waits for a limit: `LIMIT EXECUTION`.

    One that room is promised to has left the line.
    """
    limit, _, execution = place.rpartition(" ")
    member = execution.encode()
    waits = view.member(f"waits:{limit}", member)
    if waits is not None:
        yield Entry(f"waits:{limit}", member, waits)
        promised = view.member(f"promises:{limit}", member) is not None
        yield Entry(f"wait:{limit}", member, optional=promised, default=0.0)


def quota_timer(view: View, name: str) -> Iterator[Entry]:
    """Return the timer of a quota: it has one while it has promised room."""
    if view.has(f"quota:{name.split('#', maxsplit=1)[0]}") or view.has(f"promises:{name}"):
        idle = not view.has(f"promises:{name}")
        yield Entry("timers", b"q:" + name.encode(), optional=idle, default=0.0)


def budget_entries(view: View, budget_id: str) -> Iterator[Entry]:
    """Return the places of a budget in the list and the timers."""
    budget = view.record(f"budget:{budget_id}")
    if budget is None:
        return
    member = budget_id.encode()
    yield Entry("budgets", budget["tenant"] + b"|" + member, 0.0)
    # It also has a timer while it wakes many that wait.
    periodic = "next_reset" in budget
    yield Entry("timers", b"b:" + member, optional=not periodic, default=0.0)


def reservation_entries(view: View, name: str) -> Iterator[Entry]:
    """Return the timer of a reservation."""
    until = view.member(f"reservation:{name}", b"|until")
    if until is not None:
        yield Entry("timers", b"v:" + name.encode(), float(until))


def budget_drifts(view: View, budget_id: str) -> Iterator[Drift]:
    """Compare what a budget says is reserved with the reservations under it."""
    budget = view.record(f"budget:{budget_id}")
    if budget is None or view.size("timers") > MOST_TIMERS:
        return
    held: dict[str, int] = defaultdict(int)
    names = [m[2:].decode() for m in view.value("timers") or {} if m.startswith(b"v:")]
    view.prefetch(("v", f"reservation:{name}", b"") for name in names)
    _announce_chains(view, {name.split("|")[0] for name in names})
    for name in names:
        amounts = view.record(f"reservation:{name}") or {}
        if amounts and budget_id in _chain(view, name.split("|")[0]):
            for dimension, amount in amounts.items():
                if not dimension.startswith("|"):
                    held[dimension] += int(amount)
    for dimension in sorted(held.keys() | _reserved(budget)):
        says = int(budget.get(f"r|{dimension}", 0))
        if says != held[dimension]:
            text = f"says that {says} {dimension} are reserved, there are {held[dimension]}"
            repair = ("HSET", f"budget:{budget_id}", f"r|{dimension}", str(held[dimension]))
            yield Drift(Kind.COUNT, f"budget {budget_id}:", text, (repair,))


def _reserved(budget: Record) -> set[str]:
    return {name[2:] for name in budget if name.startswith("r|")}


def _announce_chains(view: View, budget_ids: set[str]) -> None:
    """Announce the parents of all budgets, those of one depth together."""
    for _ in range(_DEEPEST):
        view.prefetch(("m", f"budget:{budget_id}", b"parent") for budget_id in budget_ids)
        parents = (view.member(f"budget:{budget_id}", b"parent") for budget_id in budget_ids)
        budget_ids = {parent.decode() for parent in parents if parent is not None}


def _chain(view: View, budget_id: str) -> list[str]:
    """Return a budget and its ancestors."""
    chain: list[str] = []
    parent: bytes | None = budget_id.encode()
    while parent is not None and len(chain) < _DEEPEST:
        chain.append(parent.decode())
        parent = view.member(f"budget:{chain[-1]}", b"parent")
    return chain
