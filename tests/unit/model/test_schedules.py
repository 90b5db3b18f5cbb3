"""schedules: what they say, changed, packed and shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from holdfast.errors import InvalidInput
from holdfast.model.executions import NewExecution
from holdfast.model.retry import RetryPolicy
from holdfast.model.schedules import NewSchedule, decode_schedule
from holdfast.model.timing import Timing
from tests.support.scheduling import known

WORK = NewExecution(kind="work", input=b'{"n":12345678901234567890.10}', tags={"a": "b"})
CRON = {"id": "s", "cron": "0 6 * * *", "execution": WORK}


def test_a_schedule_is_made_of_flat_fields() -> None:
    """As HTTP carries them."""
    made = NewSchedule.from_fields({**CRON, "timezone": "Europe/Berlin", "overlap": "skip"})
    assert made.timing == Timing(cron="0 6 * * *", timezone="Europe/Berlin")
    assert (made.overlap, made.catch_up, made.paused) == ("skip", "none", False)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "a b"},
        {"id": "a~b"},
        {"execution": {"kind": "work"}},
        {"catch_up": "some"},
        {"catch_up_limit": 0},
        {"catch_up_limit": 1001},
        {"overlap": "forbid"},
        {"jitter_ms": -1},
        {"jitter_ms": 86_400_001},
        {"paused": 1},
        {"every_ms": 1_000},
        {"unknown": 1},
        {"execution": NewExecution(kind="work", id="x")},
        {"execution": NewExecution(kind="work", idempotency_key="x")},
        {"execution": NewExecution(kind="work", delay_ms=1)},
        {"execution": NewExecution(kind="work", run_at=datetime(2026, 1, 1, tzinfo=UTC))},
    ],
)
def test_what_cannot_be_scheduled_is_refused(fields: dict[str, Any]) -> None:
    """By its field."""
    with pytest.raises(InvalidInput):
        NewSchedule.from_fields({**CRON, **fields})


@pytest.mark.parametrize("missing", ["id", "execution", "cron"])
def test_what_is_required_must_be_there(missing: str) -> None:
    """An id, an execution, a time."""
    with pytest.raises(InvalidInput):
        NewSchedule.from_fields({name: CRON[name] for name in CRON if name != missing})


def test_jitter_is_not_longer_than_an_interval() -> None:
    """Ticks would change places."""
    with pytest.raises(InvalidInput):
        NewSchedule.from_fields(
            {"id": "s", "every_ms": 1_000, "execution": WORK, "jitter_ms": 1_001}
        )


def test_changes_keep_the_rest() -> None:
    """A new kind of time replaces the old one."""
    made = NewSchedule.from_fields({**CRON, "timezone": "Europe/Berlin", "overlap": "skip"})
    assert made.changed({}) == made
    later = made.changed({"cron": "0 7 * * *"})
    assert later.timing == Timing(cron="0 7 * * *", timezone="Europe/Berlin")
    assert later.overlap == "skip"
    assert made.changed({"timezone": "UTC"}).timing == Timing(cron="0 6 * * *")
    assert made.changed({"every_ms": 5_000}).timing == Timing(every_ms=5_000)
    for bad in ({"id": "other"}, {"nothing": 1}, {"paused": None}, {"cron": "x"}):
        with pytest.raises(InvalidInput):
            made.changed(bad)


def test_all_of_it_is_packed() -> None:
    """Every field of the execution comes back."""
    execution = NewExecution(
        kind="a/b",
        input=bytes(range(256)),
        tenant="t",
        lane="l",
        priority=-5,
        requires=("gpu",),
        deadline_ms=1,
        attempt_timeout_ms=2,
        retry=RetryPolicy(max_attempts=3, give_up_on=("E",)),
        max_reclaims=4,
        max_replays=5,
        tags={"x": "y"},
        retention_ms=6,
    )
    made = NewSchedule(
        id="s",
        execution=execution,
        timing=Timing(at=datetime(2026, 1, 1, tzinfo=UTC)),
        catch_up="all",
        catch_up_limit=7,
        overlap="queue",
        jitter_ms=8,
        paused=True,
    )
    assert decode_schedule(made.encode(), paused=True) == made
    assert made.digest() == decode_schedule(made.encode(), paused=False).digest()
    assert made.digest() != made.changed({"jitter_ms": 9}).digest()


def test_json_shows_all_of_it() -> None:
    """The input with every digit."""
    text = msgspec.json.encode(known(NewSchedule.from_fields(CRON)).view())
    assert b'"input":{"n":12345678901234567890.10}' in text
    shown = msgspec.json.decode(text)
    assert (shown["id"], shown["cron"], shown["timezone"]) == ("s", "0 6 * * *", "UTC")
    assert (shown["execution"]["kind"], shown["next_at"], shown["paused"]) == ("work", None, False)
    assert "every_ms" not in shown
