"""What a caller sees of payloads: all of them, all but the parts that rules redact, or none.

A rule names a part of the payloads of a tenant, by a path:

    card.number        the field `number` of the field `card`
    items.*.price      that field of every item of a list, or of every field of an object
    **.password        the field `password`, at any depth
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Raw

from holdfast.model import bounds, checks

#: What an answer has in place of a payload that the caller may not see.
HIDDEN = "[hidden]"
#: What a payload has in place of a part that a rule names.
REDACTED = "[redacted]"
#: As the kind of a rule: tasks of every kind.
EVERY_KIND = "*"

_ANY = "*"
_DEEP = "**"
_REDACTED = Raw(msgspec.json.encode(REDACTED))
_PART = re.compile(r"[^.|\s]{1,128}\Z")
_KIND = re.compile(r"[A-Za-z0-9_.:@-]{0,127}\*\Z")
_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode

Path = tuple[str, ...]


class Payloads(StrEnum):
    """Which payloads an API key sees."""

    #: Everything, whatever the rules say.
    ALL = "all"
    #: Everything but the parts that the rules of its tenant name.
    REDACTED = "redacted"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RedactionRule:
    """A part of payloads that callers do not see."""

    #: Names of fields with dots between them; `*` is any field or item, `**` any depth.
    path: str
    #: The task whose payloads have it; `mail.*` is every task whose name starts so, `*` every one.
    kind: str = EVERY_KIND
    #: Null: of every tenant.
    tenant: str | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        checks.text("path", self.path, bounds.REDACTION_PATH_CHARS, empty=False)
        if not all(_PART.match(part) for part in self.parts):
            checks.refuse("path", "must be names of fields with dots between them", self.path)
        if self.parts[-1] == _DEEP:
            checks.refuse("path", f"must name a field after {_DEEP}", self.path)
        if _KIND.match(checks.text("kind", self.kind, bounds.NAME_CHARS)) is None:
            checks.kind("kind", self.kind)
        if self.tenant is not None:
            checks.name("tenant", self.tenant)

    @property
    def parts(self) -> Path:
        """The names of the path."""
        return tuple(self.path.split("."))

    def covers(self, tenant: str | None, kind: str | None) -> bool:
        """Whether it is about a payload; one whose tenant or kind is not known may be."""
        if None not in {self.tenant, tenant} and self.tenant != tenant:
            return False
        if kind is None:
            return True
        start = self.kind.removesuffix("*")
        return kind.startswith(start) if start != self.kind else kind == self.kind


def paths_for(
    rules: Iterable[RedactionRule], tenant: str | None, kind: str | None
) -> tuple[Path, ...]:
    """Return the paths that rules redact in payloads of a tenant and a kind."""
    return tuple(rule.parts for rule in rules if rule.covers(tenant, kind))


def redacted(value: Any, paths: Sequence[Path]) -> Any:
    """Return JSON without the parts at some paths; the others stay as they were written."""
    return value if not paths else _redacted(Raw(msgspec.json.encode(value)), paths)


def redacted_bytes(data: bytes, paths: Sequence[Path]) -> bytes:
    """Return a payload without the parts at some paths; one that is not JSON has no parts."""
    try:
        whole = msgspec.json.decode(data, type=Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data
    return bytes(_redacted(whole, paths)) if paths else data


def _redacted(data: Raw, paths: Sequence[Path]) -> Raw:
    """Redact one level: only what lies on a path is decoded, so numbers keep their digits."""
    here = [*paths, *(path[1:] for path in paths if path and path[0] == _DEEP)]
    if any(not path for path in here):
        return _REDACTED
    text = bytes(data).lstrip()
    if text.startswith(b"{"):
        fields = _fields(text)
        kept = {name: _redacted_at(name, value, here) for name, value in fields.items()}
        return Raw(msgspec.json.encode(kept))
    if text.startswith(b"["):
        return Raw(msgspec.json.encode([_redacted_at(None, item, here) for item in _items(text)]))
    return data


def _redacted_at(name: str | None, value: Raw, paths: Sequence[Path]) -> Raw:
    """Redact a field, or an item of a list, which has no name."""
    deeper = []
    for path in paths:
        if path[0] == _DEEP:
            deeper.append(path)
        elif path[0] in {_ANY, name}:
            deeper.append(path[1:])
    return _redacted(value, deeper) if deeper else value
