"""Threads of checkpoints that another library makes, and what their agents remember."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.model import bounds, checks

#: Separates the parts of a stored name; names cannot contain it.
SEPARATOR = "\0"


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a tenant."""

    tenant: str
    name: str

    def __post_init__(self) -> None:
        checks.name("tenant", self.tenant)
        checks.text("thread_id", self.name, bounds.THREAD_CHARS, empty=False)

    @property
    def stored(self) -> str:
        """The name under which it is stored; it chooses the partition."""
        return f"{self.tenant}|{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCheckpoint:
    """A checkpoint to store. Values are shared by the checkpoints of a namespace that name them."""

    namespace: str
    id: str
    payload: bytes
    #: The values that it consists of, by name, in their versions.
    versions: Mapping[str, str] = field(default_factory=dict)
    #: Those that are new.
    values: Mapping[str, bytes] = field(default_factory=dict)
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What a task wrote since a checkpoint; those at negative places replace each other."""

    task: str
    place: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCheckpoint:
    """A checkpoint with its values and the writes since."""

    namespace: str
    id: str
    payload: bytes
    values: Mapping[str, bytes]
    writes: Sequence[Write]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """An item that agents remember."""

    namespace: tuple[str, ...]
    key: str
    value: bytes
    created_at: datetime
    changed_at: datetime
