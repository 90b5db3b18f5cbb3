"""Crash after every checkpoint: a task must end the same way wherever its worker dies."""

from __future__ import annotations

import inspect
import operator
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, ParamSpec, TypeVar

from holdfast.errors import ExecutionFailed, HoldfastError
from holdfast.model.ids import new_id
from holdfast.testing.app import NotIdle, TestApp
from holdfast.testing.watching import Write
from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashRun(Generic[R]):
    """One run of the task."""

    #: The last write before the worker was killed; None if it was not killed.
    killed_after: str | None
    result: R | None
    #: The problems of this run, one sentence each.
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashReport(Generic[R]):
    """The runs of a task: undisturbed, and killed at each boundary."""

    task: str
    result: R
    #: The undisturbed run first.
    runs: tuple[CrashRun[R], ...]

    @property
    def problems(self) -> list[str]:
        """All problems of all runs."""
        return [
            f"killed after {run.killed_after}: {problem}" if run.killed_after else problem
            for run in self.runs
            for problem in run.problems
        ]

    def __str__(self) -> str:
        kills = len(self.runs) - 1
        if not self.problems:
            return f"{self.task}: killed {kills} times, the same result {self.result!r} each time"
        wrong = sum(1 for run in self.runs if run.problems)
        lines = [f"{self.task}: {wrong} of {len(self.runs)} runs went wrong", *self.problems]
        return "\n  ".join(lines)


class CrashesMatter(AssertionError):
    """A crash changes what the task does; `report` has the runs."""

    def __init__(self, report: CrashReport[Any]) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True, slots=True)
class _Case(Generic[R]):
    """The task and its arguments."""

    task: Task[Any, R, Any]
    id: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class _Killer:
    """Kills after the write of a number, counted from 1, of one execution."""

    def __init__(self, execution_id: str, number: int) -> None:
        self._execution_id = execution_id
        self._left = number
        self.killed_after: Write | None = None

    def __call__(self, write: Write) -> bool:
        if write.execution_id == self._execution_id:
            self._left -= 1
            if self._left == 0:
                self.killed_after = write
                return True
        return False


class CrashTest(Generic[R]):
    """Runs a task repeatedly; `crash_everywhere` is the short form."""

    def __init__(
        self,
        test: TestApp,
        *,
        before_each: Callable[[], Awaitable[object] | object] | None = None,
        after_each: Callable[[CrashRun[R]], Awaitable[object] | object] | None = None,
        same: Callable[[R, R], bool] = operator.eq,
    ) -> None:
        """Prepare the runs.

        Args:
            test: the test app that runs the task.
            before_each: called before every run, to reset fakes of other systems.
            after_each: called with every run; an AssertionError is a problem of that run.
            same: whether two results count as the same.
        """
        self._test = test
        self._before_each = before_each
        self._after_each = after_each
        self._same = same

    async def run(self, task: Task[P, R, Any], *args: P.args, **kwargs: P.kwargs) -> CrashReport[R]:
        """Run a task undisturbed, then kill it once after each step and child, and at its end.

        Every run is on an empty store, with the same id and at the same time.

        Raises:
            CrashesMatter: a run does not end with the same result, or runs a recorded step again.
            ExecutionFailed: the undisturbed run fails.
        """
        own_id = new_id()
        case = _Case(task.options(id=own_id), own_id, args, kwargs)
        result, writes = await self._run_undisturbed(case)
        first = CrashRun(killed_after=None, result=result)
        runs = [await self._checked(first)]
        for number in range(1, len(writes) + 1):
            run = await self._run_killed(case, number, result, writes)
            runs.append(await self._checked(run))
        report = CrashReport(task=task.name, result=result, runs=tuple(runs))
        if report.problems:
            raise CrashesMatter(report)
        return report

    async def _run_undisturbed(self, case: _Case[R]) -> tuple[R, list[Write]]:
        async with self._test.fresh() as test:
            await _call(self._before_each)
            result: R = await test.run(case.task, *case.args, **case.kwargs)
            return result, [
                write for write in test.store.watch.writes if write.execution_id == case.id
            ]

    async def _run_killed(
        self, case: _Case[R], number: int, expected: R, writes: Sequence[Write]
    ) -> CrashRun[R]:
        """Kill after the write of this number; compare with the undisturbed run."""
        killer = _Killer(case.id, number)
        found: R | None = None
        problems: list[str] = []
        async with self._test.fresh() as test:
            test.kill_when(killer)
            await _call(self._before_each)
            try:
                found = await test.run(case.task, *case.args, **case.kwargs)
            except (HoldfastError, NotIdle) as error:
                problems.append(_describe(error))
            else:
                if not self._same(expected, found):
                    problems.append(f"expected {expected!r}, got {found!r}")
            own = [write for write in test.store.watch.writes if write.execution_id == case.id]
        problems += _compare(writes, own)
        place = f"({number} of {len(writes)})"
        if killer.killed_after is None:
            problems.append(f"it never reached {writes[number - 1]} {place} in this run")
            return CrashRun(killed_after=None, result=found, problems=tuple(problems))
        killed_after = f"{killer.killed_after} {place}"
        return CrashRun(killed_after=killed_after, result=found, problems=tuple(problems))

    async def _checked(self, run: CrashRun[R]) -> CrashRun[R]:
        try:
            await _call(self._after_each, run)
        except AssertionError as error:
            said = "; ".join(str(error).splitlines()) or "after_each failed"
            return replace(run, problems=(*run.problems, said))
        return run


async def crash_everywhere(
    test: TestApp, task: Task[P, R, Any], *args: P.args, **kwargs: P.kwargs
) -> CrashReport[R]:
    """Kill a task once at each of its boundaries; raise CrashesMatter if its end changes."""
    return await CrashTest[R](test).run(task, *args, **kwargs)


def _compare(expected: Sequence[Write], found: Sequence[Write]) -> list[str]:
    """Return the extra and the missing writes of a killed run."""
    steps = Counter(write.name for write in found if write.what == "step")
    problems = [f"step {name!r} ran again" for name, count in steps.items() if count > 1]
    before = [write for write in dict.fromkeys(expected) if write.what != "end"]
    after = [write for write in dict.fromkeys(found) if write.what != "end"]
    if more := [write for write in after if write not in before]:
        problems.append(f"only this run has {', '.join(map(str, more))}")
    if fewer := [write for write in before if write not in after]:
        problems.append(f"this run does not have {', '.join(map(str, fewer))}")
    return problems


def _describe(error: HoldfastError | NotIdle) -> str:
    about = error.context.get("error") if isinstance(error, ExecutionFailed) else None
    if not about:
        return f"{type(error).__name__}: {error}"
    return f"it failed: {about['type']}: {about['message']}"


async def _call(callback: Callable[..., Any] | None, *args: Any) -> None:
    if callback is not None:
        answer = callback(*args)
        if inspect.isawaitable(answer):
            await answer
