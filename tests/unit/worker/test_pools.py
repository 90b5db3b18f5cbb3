"""Threads for `def` tasks."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from holdfast.testing.polling import wait_for
from holdfast.worker.pools import Result, ThreadPool


async def test_work_that_comes_as_a_thread_takes_other_work_gets_a_thread() -> None:
    """The thread counts as idle until it has the lock; it must not be counted on."""
    pool = ThreadPool(2)
    await pool.run(int)
    assert await pool.wait_idle(5)
    done = threading.Event()
    first: Future[Result] = Future()
    second: Future[Result] = Future()

    async def is_taken() -> bool:
        return pool._work.empty()

    with pool._lock:
        pool._work.put((first, lambda: done.wait(5)))
        await wait_for(is_taken)
        # What `run` does.
        pool._work.put((second, done.set))
        pool._start_if_needed()
    assert first.result(10) == (True, True)
