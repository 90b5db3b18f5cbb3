"""Failed assertions of the load are explained like those of tests."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.chaos.load")
