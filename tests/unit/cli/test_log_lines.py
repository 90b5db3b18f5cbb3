"""Lines that workers write to their logs."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from holdfast.cli.worker import JsonLines, TextLines

ABOUT: dict[str, Any] = {"tenant": "acme", "execution": "x-1", "kind": "order.place", "attempt": 0}


def record(message: str, *, failed: bool = False, **fields: Any) -> logging.LogRecord:
    """Make a record, maybe of an error that was raised."""
    error = None
    if failed:
        try:
            raise ValueError("no stock")  # noqa: TRY301
        except ValueError:
            error = sys.exc_info()
    made = logging.LogRecord("holdfast.worker", logging.WARNING, __file__, 1, message, (), error)
    made.__dict__.update(fields)
    return made


def test_a_line_about_an_attempt_names_it() -> None:
    """Execution, kind, and the attempt as people count."""
    line = TextLines().format(record("attempt failed", **ABOUT))
    assert line.endswith("WARNING holdfast.worker: [x-1 order.place #1] attempt failed")


def test_other_lines_are_plain() -> None:
    """Nothing is made up."""
    assert TextLines().format(record("draining")).endswith("holdfast.worker: draining")


def test_a_traceback_follows_the_line() -> None:
    """As text, or as a field."""
    failed = record("attempt failed", failed=True, **ABOUT)
    assert "\nTraceback (most recent call last):\n" in TextLines().format(failed)
    assert "ValueError: no stock" in json.loads(JsonLines().format(failed))["traceback"]


def test_json_has_them_as_fields() -> None:
    """The attempt is an index, as everywhere in JSON."""
    value = json.loads(JsonLines().format(record("attempt failed", **ABOUT)))
    assert {name: value[name] for name in ABOUT} == ABOUT
