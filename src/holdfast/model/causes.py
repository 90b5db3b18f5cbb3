"""Causes: what failures are grouped by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from holdfast.model.executions import Failure

#: What is longer is cut: failures in one place are one group all the same.
_CHARS = 100
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_NAMES = ("type", "code", "place")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Executions of one task that failed in the same way, in the same place."""

    kind: str
    error_type: str
    #: The code that the error itself gives; empty if it gives none.
    code: str
    #: Where it failed, such as a file and a line, or a node; empty if it is not known.
    place: str
    count: int
    #: When the first and the last of them ended.
    first_at: datetime
    last_at: datetime
    #: Some of them, the last ones first.
    examples: tuple[str, ...]

    @property
    def example(self) -> str:
        """The last of them."""
        return self.examples[0]


def cause_of(failure: Failure, *, sealed: bool) -> str:
    """Return the stored cause of a failure; where payloads are sealed, only its type."""
    if sealed:
        return _packed(failure.type, "", "")
    details = failure.details if isinstance(failure.details, Mapping) else {}
    code = details.get("code")
    return _packed(failure.type, code if isinstance(code, str) else "", _place(details))


def _packed(*parts: str) -> str:
    return "\n".join(" ".join(part.split())[:_CHARS] for part in parts)


def _place(details: Mapping[str, Any]) -> str:
    for name in ("place", "node", "step"):
        if isinstance(details.get(name), str):
            return str(details[name])
    trace = details.get("traceback")
    frames = _FRAME.findall(trace) if isinstance(trace, str) else []
    if not frames:
        return ""
    path, line, function = frames[-1]
    return f"{PurePath(path).name}:{line} in {function}"


def parse(packed: str) -> tuple[str, str, str]:
    """Return the type, the code and the place of a stored cause."""
    error_type, code, place = packed.split("\n")
    return error_type, code, place


def brief(packed: bytes | None) -> dict[str, str] | None:
    """Return what a list says of an error: its type, and its code and place if it has them."""
    if packed is None:
        return None
    parts = parse(packed.decode())
    return {name: part for name, part in zip(_NAMES, parts, strict=True) if part}
