"""The dispatcher: the one rule by which a message finds its revision.

It is pure: the same snapshot and the same seed give the same decision, in every process.
"""

from __future__ import annotations

import msgspec

from holdfast.model.activities import Explanation, Reason, Standing
from holdfast.model.pins import Pin, Roster
from holdfast.routing.cookies import Cookie
from holdfast.routing.table import READY, Candidate, RoutingTable


class Snapshot(msgspec.Struct, frozen=True):
    """Everything that a decision depends on, as it was at one moment."""

    table: RoutingTable
    session: str
    #: The revision on which the session waits for its next message.
    wait: str | None = None
    pin: Pin | None = None
    #: What the browser's cookie says, after its signature, scope and end were checked.
    cookie: Cookie | None = None


class Decision(msgspec.Struct, frozen=True):
    """The revision of a message, and why."""

    #: None if no revision of the deployment takes new sessions.
    revision: str | None
    reason: Reason
    #: The pin or cookie is of a later split than the table: the router should read it again.
    is_behind: bool = False


def decide(snapshot: Snapshot, seed: bytes = b"") -> Decision:
    """Choose the revision of a message: wait, then pin, then cookie, then weights."""
    if snapshot.wait is not None:
        return Decision(snapshot.wait, Reason.WAIT)
    table = snapshot.table
    roster = table.roster
    pin, cookie = snapshot.pin, snapshot.cookie
    is_behind = pin is not None and roster.is_behind(pin)
    if pin is not None and roster.holds(pin):
        return Decision(pin.revision, Reason.PIN, is_behind)
    if cookie is not None:
        is_behind = is_behind or roster.is_behind(cookie.pin)
        if roster.holds(cookie.pin):
            return Decision(cookie.revision, Reason.COOKIE, is_behind)
    return Decision(table.choose(snapshot.session, seed), Reason.WEIGHTS, is_behind)


def explain(snapshot: Snapshot, seed: bytes = b"") -> Explanation:
    """Decide, and say what was considered."""
    decision = decide(snapshot, seed)
    table = snapshot.table
    total = sum(candidate.weight_bps for candidate in table.open)
    return Explanation(
        revision=decision.revision,
        reason=decision.reason,
        candidates=tuple(_standing(candidate, total) for candidate in table.candidates),
        steps=tuple(_steps(snapshot, decision)),
    )


def _standing(candidate: Candidate, total: int) -> Standing:
    excluded = None
    if candidate.lifecycle != READY:
        excluded = f"it is {candidate.lifecycle}"
    elif not candidate.weight_bps:
        excluded = "its weight is 0"
    return Standing(
        revision=candidate.revision,
        weight_bps=candidate.weight_bps,
        lifecycle=candidate.lifecycle,
        chance_bps=0 if excluded else round(candidate.weight_bps * 10_000 / total),
        excluded=excluded,
    )


def _steps(snapshot: Snapshot, decision: Decision) -> list[str]:
    """Return a sentence for each step, up to the one that decided."""
    if snapshot.wait is not None:
        return [f"the session waits on {snapshot.wait}"]
    roster = snapshot.table.roster
    steps = ["the session has no wait", _judged("session", "pin", snapshot.pin, roster)]
    if decision.reason is Reason.PIN:
        return steps
    cookie = None if snapshot.cookie is None else snapshot.cookie.pin
    steps.append(_judged("browser", "cookie", cookie, roster))
    if decision.reason is Reason.COOKIE:
        return steps
    if decision.revision is None:
        return [*steps, "no revision takes new sessions"]
    return [*steps, f"the weights give it to {decision.revision}"]


def _judged(owner: str, what: str, pin: Pin | None, roster: Roster) -> str:
    if pin is None:
        return f"the {owner} has no valid {what}"
    named = f"the {what} of generation {pin.generation} names {pin.revision}"
    since = roster.since.get(pin.revision)
    if since is None:
        return f"{named}, which takes no new sessions"
    if roster.holds(pin):
        return f"{named}, which has taken new sessions ever since"
    return f"{named}, which came back at generation {since}"
