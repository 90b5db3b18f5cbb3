"""The order of a decision: wait, pin, cookie, weights."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.model.pins import Pin
from holdfast.routing import Cookie, Decision, Reason, RoutingTable, Snapshot, decide, explain
from tests.unit.routing.test_table import SESSIONS, table

BOTH = table(3, a=5_000, b=5_000)


def cookie(revision: str, generation: int = 3) -> Cookie:
    """Return what a genuine cookie says."""
    return Cookie("local", "shop", "acme", revision, generation, 0)


@pytest.mark.parametrize(
    ("wait", "pin", "given", "expected"),
    [
        ("w", Pin("a", 3), cookie("b"), ("w", Reason.WAIT)),
        (None, Pin("a", 3), cookie("b"), ("a", Reason.PIN)),
        (None, Pin("a", 1), cookie("b"), ("a", Reason.PIN)),
        (None, None, cookie("b"), ("b", Reason.COOKIE)),
        (None, Pin("gone", 3), cookie("b"), ("b", Reason.COOKIE)),
        (None, Pin("a", 0), cookie("b"), ("b", Reason.COOKIE)),
        (None, Pin("gone", 3), cookie("gone"), (BOTH.choose("s"), Reason.WEIGHTS)),
        (None, None, cookie("a", 0), (BOTH.choose("s"), Reason.WEIGHTS)),
        (None, None, None, (BOTH.choose("s"), Reason.WEIGHTS)),
    ],
)
def test_the_first_that_holds_decides(
    wait: str | None, pin: Pin | None, given: Cookie | None, expected: tuple[str, Reason]
) -> None:
    """Each step only if the one before it has no answer."""
    assert decide(Snapshot(BOTH, "s", wait, pin, given)) == Decision(*expected)


@pytest.mark.parametrize("lifecycle", ["ready", "draining", "failed"])
def test_a_wait_is_where_it_is(lifecycle: str) -> None:
    """Whatever became of its revision, no other has the state of the conversation."""
    a, b = BOTH.candidates
    routing = replace(BOTH, candidates=(replace(a, lifecycle=lifecycle), b))
    assert decide(Snapshot(routing, "s", wait="a")).revision == "a"


def test_a_draining_revision_keeps_neither_pins_nor_cookies() -> None:
    """It ends its waits, so that its drain can end."""
    a, b = BOTH.candidates
    routing = replace(BOTH, candidates=(replace(a, lifecycle="draining"), b))
    decision = decide(Snapshot(routing, "s", pin=Pin("a", 3), cookie=cookie("a")))
    assert decision == Decision("b", Reason.WEIGHTS)


def test_reweighting_moves_nobody_who_is_pinned() -> None:
    """However the weights change, as long as none becomes 0."""
    pins = {session: Pin(str(BOTH.choose(session)), 3) for session in SESSIONS[:2_000]}
    routing = BOTH
    for weight in (1, 9_999, 5_000):
        weights = {"a": weight, "b": 10_000 - weight}
        routing = routing.followed_by(weights, {"a": "ready", "b": "ready"})
        for session, pin in pins.items():
            decision = decide(Snapshot(routing, session, pin=pin))
            assert decision == Decision(pin.revision, Reason.PIN)


def test_a_pin_of_a_later_split_is_followed_and_noticed() -> None:
    """A router that is behind follows those that know more, if it knows the revision."""
    ahead = decide(Snapshot(BOTH, "s", pin=Pin("b", 4)))
    assert ahead == Decision("b", Reason.PIN, is_behind=True)
    unknown = decide(Snapshot(BOTH, "s", pin=Pin("new", 4)))
    assert unknown == Decision(BOTH.choose("s"), Reason.WEIGHTS, is_behind=True)
    by_cookie = decide(Snapshot(BOTH, "s", cookie=cookie("new", 4)))
    assert by_cookie == Decision(BOTH.choose("s"), Reason.WEIGHTS, is_behind=True)


def test_no_revision_that_takes_sessions_is_an_answer() -> None:
    """The caller says so to its user; nothing is raised in the middle of routing."""
    assert decide(Snapshot(table(0), "s")) == Decision(None, Reason.WEIGHTS)


def test_the_same_snapshot_and_seed_give_the_same_decision() -> None:
    """So a decision can be repeated and tested."""
    decisions = [decide(Snapshot(BOTH, session), b"seed") for session in SESSIONS[:500]]
    assert decisions == [decide(Snapshot(BOTH, session), b"seed") for session in SESSIONS[:500]]
    assert len({decision.revision for decision in decisions}) == 2


def _drained() -> RoutingTable:
    a, b, c, d = table(5, a=1_000, b=3_000, c=6_000, d=0).candidates
    return replace(BOTH, generation=5, candidates=(a, b, replace(c, lifecycle="draining"), d))


def test_an_explanation_has_the_reason_and_all_candidates() -> None:
    """With the chance of each, and why some have none."""
    explained = explain(Snapshot(_drained(), "s", pin=Pin("c", 5)))
    assert (explained.reason, explained.revision) == (Reason.WEIGHTS, _drained().choose("s"))
    rows = [(one.revision, one.chance_bps, one.excluded) for one in explained.candidates]
    assert rows == [
        ("a", 2_500, None),
        ("b", 7_500, None),
        ("c", 0, "it is draining"),
        ("d", 0, "its weight is 0"),
    ]
    assert explained.steps == (
        "the session has no wait",
        "the pin of generation 5 names c, which takes no new sessions",
        "the browser has no valid cookie",
        f"the weights give it to {explained.revision}",
    )


@pytest.mark.parametrize(
    ("snapshot", "last"),
    [
        (Snapshot(BOTH, "s", wait="a"), "the session waits on a"),
        (
            Snapshot(BOTH, "s", pin=Pin("a", 2)),
            "the pin of generation 2 names a, which has taken new sessions ever since",
        ),
        (
            Snapshot(BOTH, "s", cookie=cookie("b")),
            "the cookie of generation 3 names b, which has taken new sessions ever since",
        ),
        (Snapshot(table(0), "s"), "no revision takes new sessions"),
    ],
)
def test_an_explanation_ends_with_what_decided(snapshot: Snapshot, last: str) -> None:
    """Later steps were not looked at."""
    explained = explain(snapshot)
    assert explained.steps[-1] == last
    assert explained.revision == decide(snapshot).revision


def test_an_explanation_says_when_a_revision_came_back() -> None:
    """Which is why the pin does not hold although the revision takes sessions."""
    explained = explain(Snapshot(BOTH, "s", pin=Pin("a", 0)))
    assert explained.steps[1] == "the pin of generation 0 names a, which came back at generation 1"
