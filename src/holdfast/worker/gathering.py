"""Steps in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from holdfast.worker.outcomes import Interruption

R = TypeVar("R")


async def gathered(steps: Iterable[Awaitable[R]]) -> list[R]:
    """Run steps in parallel; the first that fails cancels the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_as_coroutine(step)) for step in steps]
    except BaseExceptionGroup as problems:
        raise _first(problems) from None
    return [task.result() for task in tasks]


def _first(problems: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error to raise for a group of parallel steps: control flow first."""
    signals = problems.subgroup(Interruption)
    error: BaseException = signals or problems
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _as_coroutine(step: Awaitable[R]) -> R:
    return await step
