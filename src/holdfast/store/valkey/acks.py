"""What an acknowledgement means: that replicas, or the disk, have a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_REPLICAS = 16
#: Commands that may write: calls of functions, and functions that are sent as scripts.
_WRITES = frozenset({"FCALL", "EVAL"})
#: Where the tag is in them, if they have one.
_TAG = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """Who must have a change before it is acknowledged, besides the server itself."""

    #: How many replicas must have it in memory.
    replicas: int = 0
    #: Whether the server must have it on disk.
    disk: bool = False

    def __str__(self) -> str:
        """Return it as store URLs have it."""
        return "disk" if self.disk else f"replicas:{self.replicas}"

    def command(self, timeout_ms: int) -> Sequence[str]:
        """Return the command that waits for it, on the connection of the change."""
        if self.disk:
            return ("WAITAOF", "1", "0", str(timeout_ms))
        return ("WAIT", str(self.replicas), str(timeout_ms))

    def trouble(self, reply: Any, timeout_ms: int) -> str | None:
        """Return what is lacking after the reply to that command, or None."""
        if self.disk:
            have = reply[0]
            return None if have else f"not on disk within {timeout_ms} ms"
        if reply >= self.replicas:
            return None
        return f"{reply} of {self.replicas} replicas have it after {timeout_ms} ms"


def tag_of(command: Sequence[str | bytes]) -> str | bytes | None:
    """Return the tag of a command that may write; None for one that only reads."""
    return command[_TAG] if command[0] in _WRITES and len(command) > _TAG else None


def is_script(packed: bytes) -> bool:
    """Return whether a packed command is a function that is sent as a script."""
    return packed.startswith(b"$4\r\nEVAL\r\n", packed.find(b"$"))
