"""How often a worker's process searches for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from holdfast.worker.garbage import search_rarely


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    """Restore what is set for the whole process."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_more_slots_the_rarer_python_searches() -> None:
    """Objects of executions that run are no reason to search."""
    gc.set_threshold(700, 10, 10)
    search_rarely(400)
    assert gc.get_threshold() == (10_000, 10, 10)


def test_a_process_that_searches_more_rarely_stays_as_it_is() -> None:
    """What the user has set is not undone."""
    gc.set_threshold(50_000, 10, 10)
    search_rarely(1)
    assert gc.get_threshold()[0] == 50_000
