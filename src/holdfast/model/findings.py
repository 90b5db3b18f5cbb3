"""The findings of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How serious a finding is, the least serious first."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    level: Level
    text: str
    #: What to do about it.
    fix: str | None = None


def ok(check: str, text: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(check=check, level=Level.OK, text=text)


def warning(check: str, text: str, fix: str | None = None) -> Finding:
    """Return a finding about a part that works but deserves attention."""
    return Finding(check=check, level=Level.WARNING, text=text, fix=fix)


def error(check: str, text: str, fix: str | None = None) -> Finding:
    """Return a finding about a part that does not work, or not as promised."""
    return Finding(check=check, level=Level.ERROR, text=text, fix=fix)
