"""The state that packs keep for tenants: values with versions, some with an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from holdfast.model import checks


@dataclass(frozen=True, slots=True, kw_only=True)
class StateScope:
    """Whose state: a pack's, for a tenant in an env. No other pack or tenant reaches it."""

    env: str
    tenant: str
    pack: str

    def __post_init__(self) -> None:
        for field in ("env", "tenant", "pack"):
            checks.name(field, getattr(self, field))

    @property
    def stored(self) -> str:
        """The scope in the form of the store; no part can contain the separator."""
        return f"{self.env}|{self.tenant}|{self.pack}"


class Entry(NamedTuple):
    """A value as the store has it."""

    #: Grows with every change in the scope, so it never repeats.
    version: int
    value: bytes
