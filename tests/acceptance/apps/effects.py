"""Effects on the world, as files in a folder that all processes of a test share."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a task did to the world."""

    name: str
    #: Which process did it.
    pid: int
    #: Unique, and what the step returned.
    token: str


class World:
    """Counts effects, and holds a process at a point until a test releases it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._effects = folder / "effects"

    def do(self, name: str) -> str:
        """Leave a line; returns its token."""
        token = uuid.uuid4().hex
        with self._effects.open("a") as file:
            file.write(f"{name} {os.getpid()} {token}\n")
        return token

    def effects(self) -> list[Effect]:
        """Return what was done, oldest first."""
        if not self._effects.exists():
            return []
        # Somebody may be writing the last line just now.
        whole, _, _ = self._effects.read_text().rpartition("\n")
        fields = [line.split() for line in whole.splitlines()]
        return [Effect(name, int(pid), token) for name, pid, token in fields]

    def names(self) -> list[str]:
        """Return the names of what was done, oldest first."""
        return [effect.name for effect in self.effects()]

    def must_hold(self, point: str) -> bool:
        """Whether this process is the first at a point and has not been released."""
        marker = self.folder / f"held-{point}"
        try:
            with marker.open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            if marker.read_text() != str(os.getpid()):
                return False
        return not (self.folder / "released").exists()

    def hold(self, point: str) -> None:
        """Block the first process that comes here until a test releases it."""
        while self.must_hold(point):
            time.sleep(0.005)

    async def hold_async(self, point: str) -> None:
        """Hold a coroutine, while its event loop goes on."""
        while self.must_hold(point):  # noqa: ASYNC110 - another process releases it
            await asyncio.sleep(0.005)

    def holder(self, point: str) -> int | None:
        """Return the process that is held at a point, if there was one."""
        marker = self.folder / f"held-{point}"
        text = marker.read_text() if marker.exists() else ""
        return int(text) if text else None

    def release(self) -> None:
        """Let all go on."""
        (self.folder / "released").touch()
