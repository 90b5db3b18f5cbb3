"""Runs one claimed execution: decode, call, record the outcome."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import traceback
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, InvalidInput, LeaseLost, TaskError
from holdfast.model import checks, limits
from holdfast.model.executions import Claim, Failure
from holdfast.worker.context import Context, SyncContext
from holdfast.worker.durations import optional_ms
from holdfast.worker.outcomes import AttemptLost, AttemptPaused, GiveUp, Retry
from holdfast.worker.resources import Resources
from holdfast.worker.slots import Slots
from holdfast.worker.task import Task

if TYPE_CHECKING:
    from holdfast.worker.app import App

log = logging.getLogger(__name__)

#: An execution of a task that this worker does not have waits this long for another worker.
UNKNOWN_TASK_DELAY_MS = 10_000
_TRACEBACK_CHARS = 4_000
_MESSAGE_CHARS = 2_000


class Runner:
    """Runs executions of an app's tasks."""

    def __init__(
        self,
        app: App,
        *,
        slots: Slots,
        lease_ms: int,
        threads: Executor,
        processes: Executor,
    ) -> None:
        self._app = app
        self._engine = app.engine
        self._slots = slots
        self._lease_ms = lease_ms
        self._threads = threads
        self._processes = processes
        self.resources = Resources()
        #: The contexts of what runs now, by execution.
        self.running: dict[str, Context] = {}

    async def run(self, claim: Claim) -> None:
        """Run one execution to the end of its attempt. Never raises but for cancellation."""
        task = self._app.tasks.get(claim.kind)
        if task is None:
            await self._leave_to_others(claim)
            return
        context = Context(self._engine, claim, self._lease_ms, self._slots)
        self.running[claim.id] = context
        try:
            await self._attempt(task, context)
        except LeaseLost as error:
            log.info("the lease was lost: %s", error, extra=_fields(claim))
        except HoldfastError as error:
            # The store is away. The lease will expire and the execution run again.
            log.warning("the outcome is not recorded: %s", error, extra=_fields(claim))
        finally:
            self.running.pop(claim.id, None)

    async def _attempt(self, task: Task[Any, Any, Any], context: Context) -> None:
        claim = context.claim
        try:
            result, content_type = await self._call(task, context)
        except AttemptPaused as pause:
            await self._engine.delay(claim.id, claim.lease, pause.delay_ms)
        except AttemptLost as lost:
            log.info("stopped: %s", lost, extra=_fields(claim))
        except asyncio.CancelledError:
            if not context.lost:
                raise
            log.info("stopped: its lease is lost", extra=_fields(claim))
        except Exception as error:  # noqa: BLE001 - whatever a task raises ends its attempt only
            await self._failed(context, error)
        else:
            executions = self._engine.store.executions
            await executions.complete(claim.id, claim.lease, result, content_type or "")

    async def _call(self, task: Task[Any, Any, Any], context: Context) -> tuple[bytes, str | None]:
        signature = task.signature
        arguments = signature.decode(context.claim.input)
        for name, resource in signature.resources.items():
            arguments[name] = await self.resources.open(resource)
        await _call_hooks(self._app.before_hooks, context)
        if task.is_async:
            value = await self._call_async(task, context, arguments)
        else:
            value = await self._call_blocking(task, context, arguments)
        context.journal.finish()
        encoded, content_type = signature.encode_result(value)
        checks.payload("result", encoded)
        await _call_hooks(self._app.after_hooks, context)
        return encoded, content_type

    async def _call_async(
        self, task: Task[Any, Any, Any], context: Context, arguments: dict[str, Any]
    ) -> Any:
        if task.signature.context is not None:
            arguments[task.signature.context] = context
        return await task.fn(**arguments)

    async def _call_blocking(
        self, task: Task[Any, Any, Any], context: Context, arguments: dict[str, Any]
    ) -> Any:
        loop = asyncio.get_running_loop()
        if task.pool == "process":
            where = task.fn.__module__, task.fn.__qualname__
            call = partial(_call_by_name, *where, arguments)
            return await loop.run_in_executor(self._processes, call)
        if task.signature.context is not None:
            arguments[task.signature.context] = SyncContext(context, loop)
        return await _in_thread(loop, self._threads, task, arguments)

    async def _failed(self, context: Context, error: Exception) -> None:
        claim = context.claim
        with contextlib.suppress(Exception):
            await _call_hooks(self._app.error_hooks, context, error)
        failure = failure_of(error)
        state, retry_at = await self._engine.fail(claim.id, claim.lease, failure)
        log.warning(
            "attempt failed: %s: %s; %s",
            failure.type,
            failure.message,
            f"tried again at {retry_at}" if retry_at else f"the execution is {state}",
            extra=_fields(claim),
        )

    async def _leave_to_others(self, claim: Claim) -> None:
        log.warning(
            "this worker has no task %r: start one that has, or cancel the execution",
            claim.kind,
            extra=_fields(claim),
        )
        with contextlib.suppress(HoldfastError):
            await self._engine.delay(claim.id, claim.lease, UNKNOWN_TASK_DELAY_MS)


def failure_of(error: Exception) -> Failure:
    """Describe what a task raised."""
    after = optional_ms("after", error.after) if isinstance(error, Retry) else None
    final = isinstance(error, GiveUp | InvalidInput | TaskError)
    lines = traceback.format_exception(error)
    name = _code(error) or type(error).__name__
    return Failure(
        type=name[: limits.ERROR_TYPE_CHARS],
        message=_clean(str(error))[:_MESSAGE_CHARS],
        retryable=not final,
        retry_after_ms=after,
        details={"traceback": _clean("".join(lines))[-_TRACEBACK_CHARS:]},
    )


def _code(error: Exception) -> str | None:
    return error.code if isinstance(error, HoldfastError) else None


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _fields(claim: Claim) -> dict[str, Any]:
    return {"tenant": claim.tenant, "execution": claim.id, "attempt": claim.lease.attempt}


async def _call_hooks(hooks: list[Any], *args: Any) -> None:
    for hook in hooks:
        answer = hook(*args)
        if inspect.isawaitable(answer):
            await answer


async def _in_thread(
    loop: asyncio.AbstractEventLoop,
    threads: Executor,
    task: Task[Any, Any, Any],
    arguments: dict[str, Any],
) -> Any:
    """Run a function in a thread. Control flow cannot cross a thread's future, so it is wrapped."""

    def call() -> tuple[bool, Any]:
        try:
            return True, task.fn(**arguments)
        except (AttemptPaused, AttemptLost) as signal:
            return False, signal

    returned, value = await loop.run_in_executor(threads, call)
    if not returned:
        raise value
    return value


def _call_by_name(module: str, qualname: str, arguments: dict[str, Any]) -> Any:
    """Find a task's function in a fresh process and call it."""
    import importlib  # noqa: PLC0415 - runs in another process

    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    fn = getattr(found, "fn", found)
    return fn(**arguments)
