"""Failed assertions of the machine and its model are explained like those of tests."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.property.machine", "tests.property.world")
