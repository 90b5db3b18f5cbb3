"""timing: which ticks there are, also where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.timing import Timing, jitter_of

BERLIN = "Europe/Berlin"


def ms(text: str, zone: str = "UTC", fold: int = 0) -> int:
    """A moment in a zone, in ms."""
    return to_ms(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold))


def fires(timing: Timing, start: str, count: int, zone: str = "UTC") -> list[str]:
    """The next ticks after a moment, as a clock on the wall shows them, with the offset."""
    found, tick = [], ms(start, zone)
    for _ in range(count):
        following = timing.following(tick)
        assert following is not None
        tick = following
        found.append(from_ms(tick).astimezone(ZoneInfo(zone)).isoformat(timespec="minutes"))
    return found


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("*/15 * * * *", ["2026-01-01T00:15+00:00", "2026-01-01T00:30+00:00"]),
        ("0 6 * * MON-FRI", ["2026-01-01T06:00+00:00", "2026-01-02T06:00+00:00"]),
        ("0 0 1 * *", ["2026-02-01T00:00+00:00", "2026-03-01T00:00+00:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00+00:00", "2032-02-29T00:00+00:00"]),
        ("30 4 1,15 * 5", ["2026-01-01T04:30+00:00", "2026-01-02T04:30+00:00"]),
        ("0 12 L * *", ["2026-01-31T12:00+00:00", "2026-02-28T12:00+00:00"]),
    ],
)
def test_cron_fires_at_its_fields(cron: str, expected: list[str]) -> None:
    """Five fields, names, steps, lists, either of two days."""
    assert fires(Timing(cron=cron), "2026-01-01T00:00", 2) == expected


def test_cron_is_of_its_time_zone() -> None:
    """Six in the morning in Berlin is another hour in UTC in summer."""
    timing = Timing(cron="0 6 * * *", timezone=BERLIN)
    assert fires(timing, "2026-03-28T00:00", 3, BERLIN) == [
        "2026-03-28T06:00+01:00",
        "2026-03-29T06:00+02:00",
        "2026-03-30T06:00+02:00",
    ]


def test_a_time_that_is_leapt_over_fires_right_after_the_leap() -> None:
    """On 29 March 2026 clocks in Berlin go from 2 to 3."""
    timing = Timing(cron="30 2 * * *", timezone=BERLIN)
    assert fires(timing, "2026-03-28T00:00", 3, BERLIN) == [
        "2026-03-28T02:30+01:00",
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:30+02:00",
    ]


def test_two_times_that_are_leapt_over_fire_once() -> None:
    """Both would fire at three; a tick has one time."""
    timing = Timing(cron="10,50 2 * * *", timezone=BERLIN)
    assert fires(timing, "2026-03-29T00:00", 2, BERLIN) == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:10+02:00",
    ]


def test_a_time_that_comes_twice_fires_at_the_first() -> None:
    """On 25 October 2026 clocks in Berlin go from 3 back to 2."""
    timing = Timing(cron="30 2 * * *", timezone=BERLIN)
    assert fires(timing, "2026-10-24T12:00", 2, BERLIN) == [
        "2026-10-25T02:30+02:00",
        "2026-10-26T02:30+01:00",
    ]


def test_asked_in_the_hour_that_comes_again_a_fixed_time_does_not_fire_again() -> None:
    """It is 2:15 for the second time; half past two has been."""
    timing = Timing(cron="30 2 * * *", timezone=BERLIN)
    found = timing.next_after(ms("2026-10-25T02:15", BERLIN, fold=1), 0)
    assert found == ms("2026-10-26T02:30", BERLIN)


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
@pytest.mark.parametrize("cron", ["*/30 * * * *", "0 * * * *"])
def test_what_fires_every_hour_goes_by_real_time(cron: str, day: str) -> None:
    """No gap and no repetition, whatever clocks do."""
    timing = Timing(cron=cron, timezone=BERLIN)
    step = 30 if cron.startswith("*") else 60
    tick = ms(f"{day}T00:00", BERLIN)
    for _ in range(12):
        following = timing.following(tick)
        assert following == tick + step * 60_000
        tick = following


def test_ticks_rise_for_years() -> None:
    """Whatever the zone and the fields, no tick is before or at the last one."""
    for zone in (BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"):
        for cron in ("30 2 * * *", "0 */2 * * *", "15 1,2,3 * * SUN"):
            timing = Timing(cron=cron, timezone=zone)
            tick = ms("2025-12-31T00:00")
            for _ in range(500):
                following = timing.following(tick)
                assert following is not None
                assert following > tick
                tick = following


def test_an_interval_counts_from_its_start() -> None:
    """Or from the creation of the schedule."""
    timing = Timing(every_ms=10_000)
    assert [timing.next_after(t, 3_000) for t in (0, 3_000, 12_999, 13_000)] == [
        3_000,
        13_000,
        13_000,
        23_000,
    ]
    from_start = Timing(every_ms=10_000, start_at=from_ms(5_000))
    assert [from_start.next_after(t, 0) for t in (0, 5_000, 15_001)] == [5_000, 15_000, 25_000]


def test_once_is_once() -> None:
    """Nothing follows it."""
    timing = Timing(at=from_ms(5_000))
    assert (timing.next_after(0, 0), timing.following(5_000)) == (5_000, None)
    assert timing.ticks(5_000, 10**12, 10) == [5_000]


def test_the_last_ticks_until_a_moment() -> None:
    """As many as asked for, the latest of them."""
    hourly = Timing(cron="0 * * * *")
    start, end = ms("2026-01-01T01:00"), ms("2026-01-01T05:30")
    hours = [ms(f"2026-01-01T0{h}:00") for h in range(1, 6)]
    assert hourly.ticks(start, end, 10) == hours
    assert hourly.ticks(start, end, 2) == hours[-2:]
    assert hourly.ticks(start, start, 2) == [start]
    assert hourly.ticks(end, start, 2) == []
    every = Timing(every_ms=1_000)
    assert every.ticks(10_000, 10**12, 3) == [10**12 - 2_000, 10**12 - 1_000, 10**12]


def test_a_long_absence_costs_little() -> None:
    """Years of minutes are not gone through one by one; the last ones are found."""
    timing = Timing(cron="* * * * *")
    end = ms("2026-01-01T00:00")
    found = timing.ticks(ms("2016-01-01T00:00"), end, 1000)
    assert found == [end - n * 60_000 for n in range(999, -1, -1)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cron": "* * * * *", "every_ms": 1_000},
        {"cron": "* * * *"},
        {"cron": "0 * * * * *"},
        {"cron": "61 * * * *"},
        {"cron": "0 0 30 2 *"},
        {"cron": "nonsense"},
        {"cron": ""},
        {"cron": 5},
        {"cron": "* * * * *", "timezone": "Berlin"},
        {"cron": "* * * * *", "timezone": "../etc/passwd"},
        {"cron": "* * * * *", "timezone": ""},
        {"cron": "* * * * *", "start_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"every_ms": 99},
        {"every_ms": "1000"},
        {"every_ms": 5_000, "timezone": BERLIN},
        {"at": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is the point
        {"at": "2026-01-01"},
    ],
)
def test_what_is_no_time_is_refused(fields: dict[str, Any]) -> None:
    """With the field that is wrong."""
    with pytest.raises(InvalidInput):
        Timing(**fields)


def test_jitter_is_even_and_the_same_for_everybody() -> None:
    """Within its bounds, spread over them."""
    spread = [jitter_of("s", tick, 1_000) for tick in range(0, 60_000_000, 60_000)]
    assert spread == [jitter_of("s", tick, 1_000) for tick in range(0, 60_000_000, 60_000)]
    assert 0 <= min(spread) < 50
    assert 950 < max(spread) <= 1_000
    assert 450 < sum(spread) / len(spread) < 550
    assert spread != [jitter_of("other", tick, 1_000) for tick in range(0, 60_000_000, 60_000)]
    assert jitter_of("s", 60_000, 0) == 0
    assert timedelta(milliseconds=max(spread)) <= timedelta(seconds=1)
