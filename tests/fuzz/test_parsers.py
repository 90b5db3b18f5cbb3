"""A few inputs for each parser in every run; `FUZZ=1000000 python -m tests.fuzz` tries many."""

from __future__ import annotations

import pytest

from tests.fuzz.running import run
from tests.fuzz.targets import Target, targets

INPUTS = 150
SEED = 23


@pytest.mark.parametrize("target", list(targets()), ids=lambda target: target.name)
def test_it_takes_any_bytes_or_refuses_them(target: Target) -> None:
    found = run(target, INPUTS, SEED)
    assert not found.failures
    assert found.inputs == INPUTS
