"""Each Lua function has a test file of its own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

_LUA = Path(str(files("holdfast"))) / "lua"
_FUNCTIONS = sorted(f"{path.parent.name}/test_{path.stem}" for path in _LUA.glob("*/*.lua"))


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_each_function_has_a_test_file(function: str) -> None:
    """A function without tests cannot be added unnoticed."""
    path = Path(__file__).parent / f"{function}.py"
    assert path.is_file()
    assert "\nasync def test_" in path.read_text()


def test_there_are_functions_to_test() -> None:
    """The look into the package finds the library, so the check above is not empty."""
    assert {"execution/test_create", "timer/test_tick", "admin/test_boot"} <= set(_FUNCTIONS)
