"""Tasks in processes of their own, for work that keeps a CPU busy."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import WorkerSettings
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed
from tests.integration.worker.process_tasks import app, die, fail, fail_awkwardly, square

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def worker(engine: Engine) -> AsyncIterator[None]:
    """A worker with one process, whose lease outlasts the start of it."""
    async with app.attach(engine).worker(WorkerSettings(processes=1)):
        yield


@pytest.mark.usefixtures("worker")
async def test_a_process_task_runs_elsewhere() -> None:
    """Its result is typed as any other."""
    result, process = await (await square.submit(7)).result(timeout=30)
    assert result == 49
    assert process != os.getpid()


@pytest.mark.usefixtures("worker")
async def test_an_error_in_a_process_is_the_error_of_the_task() -> None:
    """Type, message and the place in the other process."""
    with pytest.raises(ExecutionFailed, match="why") as failed:
        await (await fail.submit("why")).result(timeout=30)
    error: dict[str, Any] = failed.value.context["error"]
    assert error["type"] == "ValueError"
    assert "in fail" in error["details"]["traceback"]


@pytest.mark.usefixtures("worker")
async def test_a_process_that_dies_fails_its_attempt_only() -> None:
    """The next task gets a new one."""
    with pytest.raises(ExecutionFailed):
        await (await die.submit()).result(timeout=30)
    assert (await (await square.submit(3)).result(timeout=30))[0] == 9


@pytest.mark.usefixtures("worker")
async def test_an_error_that_cannot_travel_fails_its_attempt_only() -> None:
    """Its text arrives at least, and the pool stays in use."""
    with pytest.raises(ExecutionFailed, match="7: no"):
        await (await fail_awkwardly.submit()).result(timeout=30)
    assert (await (await square.submit(3)).result(timeout=30))[0] == 9
