"""A worker of the support bot that dies by SIGKILL at a line: `support_worker FOLDER`.

A user called `line-N` has it die when their conversation first comes to line N of the example.
What lines a user called `calm` comes to is written down.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from holdfast import Chat, WorkerSettings
from holdfast.worker.worker import stop_on_signals
from tests.support.examples import load_example

LEASE_MS = 1_000


class Lines:
    """Watches the lines of the bot."""

    def __init__(self, folder: Path, path: str) -> None:
        self._folder = folder
        self._path = path

    def call(self, frame: FrameType, _event: str, _value: Any) -> Any:
        """Trace the functions of the example that talk, and no others."""
        is_bot = frame.f_code.co_filename == self._path and "chat" in frame.f_code.co_varnames
        return self.line if is_bot else None

    def line(self, frame: FrameType, event: str, _value: Any) -> Any:
        """Look at a line that is about to run."""
        chat = frame.f_locals.get("chat")
        if event == "line" and isinstance(chat, Chat):
            self._came(chat.user, frame.f_lineno)
        return self.line

    def _came(self, user: str, number: int) -> None:
        if user == "calm":
            with (self._folder / "lines").open("a") as lines:
                lines.write(f"{number}\n")
        elif user == f"line-{number}":
            try:
                (self._folder / f"died-{number}").touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


async def main(folder: Path) -> None:
    """Work until told to stop."""
    bot = load_example("support_bot")
    sys.settrace(Lines(folder, str(bot.__file__)).call)
    async with bot.app.worker(WorkerSettings(lease_ms=LEASE_MS)) as worker:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        with stop_on_signals(worker):
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
