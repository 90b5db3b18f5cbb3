"""Pools for blocking tasks: threads that do not keep the process alive, and processes."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

_LOOK_S = 0.01

#: The outcome of a call: its value, or the exception that it raised.
Result = tuple[bool, Any]


class ThreadPool:
    """Daemon threads up to a maximum, started on demand.

    A thread cannot be stopped. One that hangs must not keep a stopping process alive, so these
    are daemons; the threads of the standard library's pool are not.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._work: queue.SimpleQueue[tuple[Future[Result], Callable[[], Any]]] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    async def run(self, fn: Callable[[], Any]) -> Result:
        """Call a function in a thread; returns its value or the exception that it raised."""
        future: Future[Result] = Future()
        with self._lock:
            self._work.put((future, fn))
            self._start_if_needed()
        return await asyncio.wrap_future(future)

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Let another thread run while the calling one waits."""
        with self._lock:
            self._most += 1
            self._start_if_needed()
        try:
            yield
        finally:
            with self._lock:
                self._most -= 1

    async def wait_idle(self, timeout_s: float) -> bool:
        """Wait until no thread is busy; returns False after the timeout."""
        deadline = time.monotonic() + timeout_s
        while self._threads > self._idle:
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_LOOK_S)
        return True

    def _start_if_needed(self) -> None:
        if self._idle < self._work.qsize() and self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._serve, name="holdfast-task", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._lock:
                if self._threads > self._most:
                    self._threads -= 1
                    return
                self._idle += 1
            future, fn = self._work.get()
            with self._lock:
                self._idle -= 1
                # Work that came in between counted on this thread.
                self._start_if_needed()
            if future.set_running_or_notify_cancel():
                future.set_result(_outcome(fn))


class ProcessPool:
    """Processes for tasks that keep a CPU busy; a broken pool is replaced."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pool: ProcessPoolExecutor | None = None

    async def run(self, fn: Callable[..., Any], arguments: dict[str, Any]) -> Result:
        """Call a function in a process, which imports it by name."""
        if self._pool is None:
            spawned = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._most, spawned, _follow_worker)
        pool, loop = self._pool, asyncio.get_running_loop()
        place = fn.__module__, fn.__qualname__
        try:
            return await loop.run_in_executor(pool, _call_by_name, *place, arguments)
        except BrokenProcessPool as error:
            if self._pool is pool:
                self._pool = None
            return False, error

    def kill(self) -> None:
        """End the processes at once; those that go on would keep a stopping worker alive."""
        if self._pool is not None:
            # Python 3.14 has `kill_workers` for this.
            for process in list((self._pool._processes or {}).values()):  # noqa: SLF001
                process.kill()

    def close(self) -> None:
        """Stop the processes when they are idle."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _outcome(fn: Callable[[], Any]) -> Result:
    try:
        return True, fn()
    except BaseException as error:  # noqa: BLE001 - the caller decides what it means
        return False, error


def _follow_worker() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the worker, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_worker, daemon=True).start()


def _end_with_worker() -> None:
    worker = multiprocessing.parent_process()
    if worker is not None:
        worker.join()
        os._exit(1)


def _call_by_name(module: str, qualname: str, arguments: dict[str, Any]) -> Result:
    """Import a task's function in this new process and call it."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    fn = getattr(found, "fn", found)
    returned, value = _outcome(lambda: fn(**arguments))
    if not returned:
        # Tracebacks are not passed between processes; notes are.
        value.add_note("".join(traceback.format_exception(value)))
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - an error that cannot be pickled is described
        return False, RuntimeError(f"{type(value).__name__}: {value}")
    return returned, value
