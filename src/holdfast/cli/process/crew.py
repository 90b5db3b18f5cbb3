"""Run a command in several processes: start them, replace those that die, pass signals on.

The first one starts alone, so that a command that cannot work says so once. Signals of the terminal
reach only this process, which passes them on: the first drains, the second stops at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.cli.process.member import Member
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.concurrency import all_of, first_of, wait_or_timeout

log: logging.Logger = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
#: A process that has lived this long is replaced without a longer pause.
STEADY_S = 60.0


@dataclass(slots=True)
class _Place:
    """One of the processes, and those that replace it."""

    number: int
    process: Process | None = None
    #: Set once a process of this place has started.
    started: asyncio.Event = field(default_factory=asyncio.Event)


class Crew:
    """The processes of a command."""

    def __init__(self, count: int, *, port: int | None = None, folder: str | None = None) -> None:
        self._places = [_Place(number) for number in range(1, count + 1)]
        self._port = port
        self._folder = folder
        self._signals: list[int] = []
        self._stopping = asyncio.Event()

    async def run(self, announce: Callable[[list[int]], None]) -> int:
        """Work until a signal stops all; return the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop, number)
        first, *others = self._places
        keeping = [asyncio.ensure_future(self._keep(first))]
        await first_of(keeping[0], first.started.wait())
        if not keeping[0].done():
            keeping += [asyncio.ensure_future(self._keep(place)) for place in others]
            await first_of(all_of(place.started.wait() for place in others), *keeping)
            if all(place.started.is_set() for place in others):
                announce([place.process.pid for place in self._places if place.process])
        codes = await asyncio.gather(*keeping)
        if signal.SIGINT in self._signals:
            return INTERRUPTED
        return next((code for code in codes if code), 0)

    def _stop(self, number: int = signal.SIGTERM) -> None:
        """Drain all processes; at the second call stop them at once, then kill them."""
        self._signals.append(number)
        self._stopping.set()
        passed_on = signal.SIGKILL if len(self._signals) > 2 else signal.SIGTERM  # noqa: PLR2004
        for place in self._places:
            if place.process is not None and place.process.returncode is None:
                place.process.send_signal(passed_on)

    async def _keep(self, place: _Place) -> int:
        """Run a process, and others after it, until all stop; return the last exit code."""
        loop = asyncio.get_running_loop()
        pause_s = FIRST_PAUSE_S
        while True:
            began = loop.time()
            code = await self._run_once(place)
            if self._stopping.is_set():
                return self._last_code(code)
            if not place.started.is_set():
                # It never worked: others would fail in the same way.
                self._stop()
                return code or 1
            if loop.time() - began >= STEADY_S:
                pause_s = FIRST_PAUSE_S
            # Processes that fail for the same reason do not all come back in the same moment.
            wait_s = pause_s * random.uniform(0.5, 1)  # noqa: S311
            end = f"signal {-code}" if code < 0 else f"exit code {code}"
            log.error(
                "process %d ended with %s; it starts again in %.1f s", place.number, end, wait_s
            )
            if await wait_or_timeout(self._stopping, wait_s):
                return 0
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _last_code(self, code: int) -> int:
        """Return the exit code of a process that was stopped, as a shell shows one."""
        if code == -signal.SIGTERM:
            # The signal came before it handled signals: it had nothing to drain.
            return 0
        return 128 - code if code < 0 else code

    async def _run_once(self, place: _Place) -> int:
        readable, writable = os.pipe()
        member = Member(
            number=place.number,
            parent=os.getpid(),
            ready_fd=writable,
            port=self._port,
            folder=self._folder,
        )
        loop = asyncio.get_running_loop()
        try:
            place.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "holdfast.cli", *sys.argv[1:]),
                env={**os.environ, **member.to_environment()},
                pass_fds=[writable],
                start_new_session=True,
            )
        except OSError as error:
            # The system may have no room for another process now.
            os.close(readable)
            log.log(logging.ERROR, "process %d cannot be started: %s", place.number, error)
            return 1
        finally:
            os.close(writable)
        if self._stopping.is_set():
            # The signal came while it was being started.
            place.process.send_signal(signal.SIGTERM)

        def look() -> None:
            loop.remove_reader(readable)
            if os.read(readable, 1):
                place.started.set()

        loop.add_reader(readable, look)
        try:
            return await place.process.wait()
        finally:
            loop.remove_reader(readable)
            os.close(readable)
