"""A sandbox that the tests of components share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.host.components import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Return a sandbox."""
    made = Sandbox()
    yield made
    made.close()
