"""model.queues and model.messages: definitions, messages and starts, checked when they are made."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.messages import NewMessage, Start
from holdfast.model.queues import QueueSettings
from holdfast.model.retry import Backoff

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "waits"),
    [
        ((), ()),
        ([100, 200], (100, 200)),
        (Backoff(kind="fixed", initial_ms=50), (50,) * 32),
        ({"kind": "exponential", "initial_ms": 100, "max_ms": 350}, (100, 200, *(350,) * 30)),
    ],
)
def test_a_backoff_is_a_list_of_waits(given: object, waits: tuple[int, ...]) -> None:
    """A list as it is, a policy unrolled."""
    assert QueueSettings(backoff=given).backoff == waits  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{"kind": "random"}, {"colour": 1}, {"initial_ms": -1}])
def test_a_wrong_backoff_is_refused(given: object) -> None:
    """Unknown fields and values of it, too."""
    with pytest.raises(InvalidInput):
        QueueSettings(backoff=given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "start"),
    [
        ("first", Start()),
        ("end", Start(place="end")),
        ({"after": "m1"}, Start(place="after", after="m1")),
        ({"at": NOON}, Start(place="at", at=NOON)),
    ],
)
def test_a_start_is_made_of_what_the_contract_says(value: object, start: Start) -> None:
    """Words, or one of two objects."""
    assert Start.from_value(value) == start


@pytest.mark.parametrize(
    "value", ["middle", "", None, 5, {}, {"after": "a", "at": NOON}, {"colour": 1}, {"at": "noon"}]
)
def test_other_starts_are_refused(value: object) -> None:
    """Each names the field."""
    with pytest.raises(InvalidInput, match="start"):
        Start.from_value(value)


def test_digests_tell_bodies_and_keys_apart() -> None:
    """What is not part of the body does not matter."""
    base = NewMessage(payload=b"1", key="k").digest()
    assert NewMessage(payload=b"1", key="k", priority=5, delay_ms=7, id="x").digest() == base
    assert NewMessage(payload=b"1").digest() != base
    assert NewMessage(payload=b"2", key="k").digest() != base
