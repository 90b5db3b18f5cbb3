"""Versions of parts of a task's code: the numbers that an execution has recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from holdfast.errors import TaskError
from holdfast.model import bounds, checks
from holdfast.worker.journal import Journal


class Versions:
    """The versions that one attempt follows."""

    def __init__(self, journal: Journal, record: Callable[[str, bytes], Awaitable[bytes]]) -> None:
        self._journal = journal
        self._record = record
        self._known: dict[str, int] = {}

    async def get(self, name: str, current: int, *, parallel: bool = False) -> int:
        """Return the recorded version, or record one; raises TaskError among parallel steps."""
        checks.name("version", name)
        checks.integer("version", current, 1, bounds.VERSION)
        if parallel or self._journal.outstanding:
            message = "ctx.version must be called in the code of the task, outside parallel steps"
            raise TaskError(message, version=name)
        if name not in self._known:
            step, chosen, recorded = self._journal.version(name, current)
            if not recorded:
                await self._record(step, str(chosen).encode())
            self._known[name] = chosen
        return self._known[name]
