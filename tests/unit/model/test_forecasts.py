"""Forecasts of the ends of drains."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.forecasts import Prospects, foretell
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.revisions import Lifecycle, Revision

NOW = from_ms(1_800_000_000_000)
MINUTE = to_ms(NOW) // 60_000
MINUTES = timedelta(minutes=1)


def revision(lifecycle: Lifecycle = Lifecycle.READY, **fields: Any) -> Revision:
    """Return a revision of an app."""
    return Revision(
        id="blue",
        number=1,
        digest=None,
        overlays=(),
        archives=(),
        signers=(),
        config={},
        lifecycle=lifecycle,
        version=1,
        staged_at=NOW,
        changed_at=NOW,
        **fields,
    )


def draining(minutes: int, *, deadline: int | None = None) -> Revision:
    """Return a revision that has drained for minutes, and may for some more."""
    fields = {"drained_at": NOW - minutes * MINUTES}
    if deadline is not None:
        fields["deadline_at"] = NOW + deadline * MINUTES
    return revision(Lifecycle.DRAINING, **fields)


IDLE = "nothing has ended on it in the last hour"
TIMED = Prospects(waiting=2, timed=2, last=NOW + 90 * MINUTES)


@pytest.mark.parametrize(
    ("of", "prospects", "sentence"),
    [
        (revision(), Prospects(), "nothing needs it"),
        (
            revision(),
            Prospects(waiting=12, running=3, left={MINUTE: 4, MINUTE - 50: 1}),
            "about 3 hours, at the rate of the last hour",
        ),
        (revision(), Prospects(running=1), f"cannot say: {IDLE}"),
        (
            revision(),
            Prospects(waiting=4, timed=1, last=NOW),
            f"cannot say: {IDLE}, and 3 of 4 waits have no known end",
        ),
        (revision(), TIMED, "about 2 hours, when the last wait times out"),
        (
            draining(20),
            Prospects(waiting=10, left={MINUTE: 5, MINUTE - 40: 100}),
            "about 40 minutes, at the rate since the drain began",
        ),
        (
            draining(20, deadline=30),
            Prospects(waiting=1),
            (
                "about 30 minutes, at its deadline: nothing has ended on it since the drain began, "
                "and 1 of 1 waits have no known end"
            ),
        ),
        (
            draining(120, deadline=60 * 48),
            Prospects(waiting=300, left={MINUTE: 3}),
            (
                "about 2 days, at its deadline: it would take about 4 days, "
                "at the rate of the last hour"
            ),
        ),
        (draining(120, deadline=600), TIMED, "about 2 hours, when the last wait times out"),
        (
            draining(120, deadline=-1),
            TIMED,
            "overdue: what is left moves or ends within about a minute",
        ),
        (
            revision(),
            Prospects(waiting=1, left={MINUTE: 60}),
            "about a minute, at the rate of the last hour",
        ),
    ],
)
def test_a_forecast_says_what_it_is_based_on(
    of: Revision, prospects: Prospects, sentence: str
) -> None:
    """Or why it cannot say."""
    found = foretell(of, prospects, NOW)
    assert found.sentence == sentence
    assert (found.ends_at is None) == sentence.startswith(("cannot", "nothing needs"))


@given(
    st.integers(0, 3),
    st.integers(1, 9),
    st.lists(st.integers(MINUTE - 60, MINUTE), max_size=5),
    st.none() | st.integers(1, 10_000),
    st.integers(0, 200),
)
def test_a_drain_ends_later_than_now_and_not_after_its_deadline(
    running: int, waiting: int, left: list[int], deadline: int | None, minutes: int
) -> None:
    """Whatever was seen; without a deadline, the more needs there are, the later."""
    prospects = Prospects(running=running, waiting=waiting, left=dict.fromkeys(left, 2))
    found = foretell(draining(minutes, deadline=deadline), prospects, NOW)
    if deadline is not None:
        assert found.ends_at is not None
        assert NOW < found.ends_at <= NOW + deadline * MINUTES
        return
    twice = foretell(draining(minutes), prospects + Prospects(waiting=waiting), NOW)
    assert (found.ends_at is None) == (twice.ends_at is None) == (found.left == 0)
    if found.ends_at is not None and twice.ends_at is not None:
        assert NOW < found.ends_at < twice.ends_at
