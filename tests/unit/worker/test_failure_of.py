"""How an error of a task is described to the store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.errors import ExecutionFailed, InvalidInput, JournalMismatch
from holdfast.model import bounds
from holdfast.worker.outcomes import GiveUp, Retry
from holdfast.worker.runner import failure_of


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


def caught(error: Exception) -> Exception:
    """Raise an error, so that it has a traceback."""
    try:
        raise error  # noqa: TRY301
    except Exception as raised:  # noqa: BLE001
        return raised


def test_an_error_is_known_by_type_message_and_traceback() -> None:
    """Retry policies compare the type."""
    failure = failure_of(caught(ValueError("no such user")))
    assert (failure.type, failure.message) == ("ValueError", "no such user")
    assert failure.retryable
    assert failure.retry_after_ms is None
    assert "in caught" in failure.details["traceback"]
    assert failure.details["traceback"].endswith("ValueError: no such user\n")


def test_errors_of_holdfast_are_known_by_their_code() -> None:
    """The class may be renamed, the code may not."""
    failure = failure_of(caught(ExecutionFailed("child failed")))
    assert (failure.type, failure.retryable) == ("execution_failed", True)


@pytest.mark.parametrize("error", [GiveUp("why"), InvalidInput("why"), JournalMismatch("why")])
def test_some_errors_are_final(error: Exception) -> None:
    """Another attempt would end the same way."""
    failure = failure_of(caught(error))
    assert not failure.retryable
    assert failure.message == "why"


@pytest.mark.parametrize(
    ("after", "expected_ms"), [(None, None), (0, 0), (1.5, 1500), (timedelta(hours=1), 3_600_000)]
)
def test_a_retry_may_say_when(after: float | timedelta | None, expected_ms: int | None) -> None:
    """It replaces the backoff of the policy."""
    failure = failure_of(caught(Retry("busy", after=after)))
    assert (failure.type, failure.message) == ("Retry", "busy")
    assert failure.retryable
    assert failure.retry_after_ms == expected_ms


@pytest.mark.parametrize("character", ["a", "\x00", "ü", "🎈", '"', "\ud800"])
def test_a_long_message_of_any_characters_can_be_stored(character: str) -> None:
    """Otherwise the attempt would have no outcome and run again and again."""
    error = caught(ValueError(character * 100_000))
    encoded = failure_of(error).to_json()
    assert len(encoded) <= bounds.ERROR_BYTES


def test_a_long_type_is_cut() -> None:
    """It has a limit in the store."""
    error = type("E" * 500, (Exception,), {})()
    assert failure_of(caught(error)).type == "E" * bounds.ERROR_TYPE_CHARS


def test_the_end_of_a_long_traceback_is_kept() -> None:
    """That is where the error is."""

    def deep(level: int) -> None:
        if level == 0:
            raise ValueError("at the bottom")
        odd(level - 1)

    def odd(level: int) -> None:
        deep(level)

    try:
        deep(200)
    except ValueError as error:
        failure = failure_of(error)
    assert failure.details["traceback"].endswith("ValueError: at the bottom\n")
    assert len(failure.to_json()) <= bounds.ERROR_BYTES


def test_an_error_that_cannot_be_shown_is_a_failure_all_the_same() -> None:
    """Its type is known at least."""
    assert failure_of(caught(Mute())).type == "Mute"
