"""The public names: modules, their names, the members of classes and the parameters of calls."""

from __future__ import annotations

import importlib
import inspect
import os
import runpy
from pathlib import Path
from typing import Any

import django

# Models of Django can be imported only after this.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.acceptance.apps.bakery.settings")
django.setup()

_PUBLIC = Path(__file__).parents[2] / "tools" / "docsite" / "public.py"


def public() -> dict[str, dict[str, Any]]:
    """Return what each public module has: parameters by `Class.method` or function."""
    tool = runpy.run_path(str(_PUBLIC))
    return {module: members(module, tool["names"](module)) for module in tool["modules"]()}


def members(module: str, names: list[str]) -> dict[str, Any]:
    """Return the names of a module, with the parameters of those that can be called."""
    home = importlib.import_module(module)
    found: dict[str, Any] = {}
    for name in names:
        value = getattr(home, name)
        found[name] = _parameters(value)
        if inspect.isclass(value):
            shown = [one for one in dir(value) if not one.startswith("_")]
            found |= {f"{name}.{one}": _parameters(getattr(value, one, None)) for one in shown}
    return found


def _parameters(value: Any) -> list[str]:
    if not callable(value):
        return []
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []
