"""Redactions: parts of payloads that callers over HTTP do not see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from holdfast.model.sight import EVERY_KIND, RedactionRule


class Redactions(ABC):
    """Rules that redact parts of payloads in the answers of servers.

    They hold for keys that see payloads `redacted`, which is the default. A change reaches every
    server within 5 s. The store keeps payloads as they are, and workers get them as they are.
    """

    @abstractmethod
    async def add(
        self, path: str, *, kind: str = EVERY_KIND, tenant: str | None = None
    ) -> RedactionRule:
        """Redact the part at a path, of one tenant or of all; safe to repeat. Raises InvalidInput.

        A path has names of fields with dots between them; `*` is any field or item, and `**` any
        depth. The kind is the name of a task, or the start of names with a `*` after it.
        """

    @abstractmethod
    async def remove(self, path: str, *, kind: str = EVERY_KIND, tenant: str | None = None) -> None:
        """Remove a rule; safe to repeat."""

    @abstractmethod
    async def list(self, *, tenant: str | None = None) -> Sequence[RedactionRule]:
        """Return the rules that hold for a tenant, or all rules, in order."""
