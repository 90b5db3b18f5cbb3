"""Report errors of commands: one line for people, or one JSON object, and an exit code.

0    success
1    failure: an execution failed, a result is not ready, a conflict
2    wrong usage or bad input
3    not found
4    the store cannot be reached or used
130  interrupted with Ctrl-C
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from holdfast import errors
from holdfast.errors import HoldfastError
from holdfast.model.redaction import hide_secrets

FAILED = 1
WRONG_USAGE = 2
NOT_FOUND = 3
STORE_TROUBLE = 4
INTERRUPTED = 130

#: The first matching class decides.
_CODES: tuple[tuple[type[HoldfastError], int], ...] = (
    (errors.InvalidInput, WRONG_USAGE),
    (errors.ResultNotReady, FAILED),
    (errors.NotFound, NOT_FOUND),
    (errors.StoreUnavailable, STORE_TROUBLE),
    (errors.OutcomeUnknown, STORE_TROUBLE),
    (errors.StoreIncompatible, STORE_TROUBLE),
    (errors.StoreFault, STORE_TROUBLE),
    (errors.BackendFailed, STORE_TROUBLE),
    (errors.BackendUnfit, STORE_TROUBLE),
)


def exit_code(error: HoldfastError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def one_line(text: str) -> str:
    """Return a text as one line, with terminal control characters escaped."""
    return printable(" ".join(text.split()))


def printable(line: str) -> str:
    """Return a line with terminal control characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def _shown(value: Any) -> Any:
    """Return a value as JSON, with secrets hidden."""
    if isinstance(value, Mapping):
        return {str(key): _shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return hide_secrets(str(value))


def report(code: str, message: str, *, as_json: bool, context: dict[str, Any]) -> None:
    """Write an error to stderr."""
    message = hide_secrets(message)
    if as_json:
        error = {"code": code, "message": message, "context": _shown(context)}
        text = json.dumps({"error": error}, ensure_ascii=False)
    else:
        text = f"holdfast: {one_line(message)} ({code})"
    print(text, file=sys.stderr)


def report_error(error: HoldfastError, *, as_json: bool) -> int:
    """Write a HoldfastError to stderr and return its exit code."""
    report(error.code, error.message, as_json=as_json, context=error.context)
    return exit_code(error)
