"""Outages are logged when they begin and when they are over, not at every call."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast import errors, outages


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that stands until a test moves it."""
    made = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(outages, "time", SimpleNamespace(monotonic=lambda: made.now_s))
    return made


def test_an_outage_is_said_once(clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    """However many calls fail meanwhile, and again when there is another one."""
    caplog.set_level(logging.INFO, "holdfast")
    outage = outages.Outage("it is away (%s)", "it is back after %.1f s")
    for _ in range(2):
        for _ in range(5):
            outage.failed("refused")
            clock.now_s += 1
        for _ in range(3):
            outage.worked()
    assert caplog.messages == 2 * ["it is away (refused)", "it is back after 5.0 s"]


def test_a_late_answer_of_an_outage_begins_no_other(
    clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A call that was sent during the outage may fail after another one has succeeded."""
    caplog.set_level(logging.INFO, "holdfast")
    outage = outages.Outage("away (%s)", "back after %.1f s")
    outage.failed("refused", took_s=3)
    outage.worked()
    outage.failed("refused", took_s=4)
    outage.worked()
    assert caplog.messages == ["away (refused)", "back after 3.0 s"]


def test_what_is_over_at_once_is_no_outage(clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Connections are lost and made again; a store that is full says so itself, at once."""
    caplog.set_level(logging.INFO, "holdfast")
    lost = outages.Outage("away (%s)", "back after %.1f s")
    for _ in range(5):
        lost.failed("broken pipe")
        clock.now_s += 0.5
        lost.worked()
    assert caplog.messages == []
    outages.Outage("full (%s)", "room after %.1f s", patience_s=0).failed("OOM")
    assert caplog.messages == ["full (OOM)"]


def test_an_outage_lasts_until_every_place_answers(
    clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The parts of a cluster fail on their own."""
    caplog.set_level(logging.INFO, "holdfast")
    outage = outages.Outage("away (%s)", "back after %.1f s")
    for place in ("a", "b", "a", "b"):
        outage.failed("refused", place)
        clock.now_s += 1
    outage.worked("a")
    assert caplog.messages == ["away (refused)"]
    outage.worked("b")
    assert caplog.messages == ["away (refused)", "back after 4.0 s"]


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (errors.StoreFull("full"), logging.DEBUG),
        (errors.StoreUnavailable("away"), logging.DEBUG),
        (errors.OutcomeUnknown("no answer"), logging.DEBUG),
        (errors.StoreFault("a mistake of ours"), logging.WARNING),
    ],
)
def test_what_an_outage_put_off_has_no_line_of_its_own(error: Exception, level: int) -> None:
    """Timers and ticks go on later; the outage is said already."""
    assert outages.level(error) == level
