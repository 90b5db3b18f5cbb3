"""How often a process searches for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from holdfast.garbage import search_rarely


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    """Restore what is set for the whole process."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_python_searches_as_rarely_as_it_is_asked_to() -> None:
    """Objects of calls and executions under way are no reason to search."""
    gc.set_threshold(700, 10, 10)
    search_rarely(10_000)
    assert gc.get_threshold() == (10_000, 10, 10)


def test_a_process_that_searches_more_rarely_stays_as_it_is() -> None:
    """What the user has set is not undone."""
    gc.set_threshold(50_000, 10, 10)
    search_rarely(1)
    assert gc.get_threshold()[0] == 50_000
