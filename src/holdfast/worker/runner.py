"""Runs one claimed execution: decode, call, record the outcome."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.errors import (
    HoldfastError,
    InvalidInput,
    JournalMismatch,
    LeaseLost,
    TaskError,
    TooLarge,
    TooManyWaitpoints,
)
from holdfast.model import bounds, checks
from holdfast.model.executions import Claim, Failure
from holdfast.model.frames import NewFrame
from holdfast.worker import logs, misfits, tracebacks
from holdfast.worker.chat import Chat
from holdfast.worker.context import Context
from holdfast.worker.conversation import Conversation
from holdfast.worker.durations import optional_ms
from holdfast.worker.outcomes import (
    AttemptLost,
    AttemptPaused,
    AttemptSuspended,
    Continued,
    GiveUp,
    Interruption,
    Retry,
)
from holdfast.worker.parking import DEFAULT_KEPT, Kept, Parking
from holdfast.worker.pools import ProcessPool, ThreadPool
from holdfast.worker.resources import Resources
from holdfast.worker.slots import Slots
from holdfast.worker.sync_chat import SyncChat
from holdfast.worker.sync_context import SyncContext
from holdfast.worker.task import Task

if TYPE_CHECKING:
    from holdfast.worker.app import App

log: logging.Logger = logging.getLogger(__name__)

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
        threads: ThreadPool,
        processes: ProcessPool,
        keep_logs: str | None = None,
        kept: int = DEFAULT_KEPT,
        suspend_misfits: bool = True,
    ) -> None:
        self._app = app
        self._engine = app.engine
        self._slots = slots
        self._lease_ms = lease_ms
        self._threads = threads
        self._processes = processes
        self._keep_logs = keep_logs
        self._suspend_misfits = suspend_misfits
        self.resources: Resources = Resources()
        #: Conversations that wait for a message.
        self.parking: Parking = Parking(kept)
        #: The contexts of the running attempts, by execution and epoch.
        self.running: dict[tuple[str, int], Context] = {}
        #: The worker returns all leases: no attempt begins any more.
        self.released: bool = False
        #: The asyncio task of the worker.
        self.main: asyncio.Task[Any] | None = None

    async def close(self) -> None:
        """Drop the conversations that are kept, and close resources."""
        await self.parking.close()
        await self.resources.close()

    async def run(self, claim: Claim, attempt: asyncio.Task[Any] | None = None) -> None:
        """Run one execution to the end of its attempt: the asyncio task that calls, if it is given.

        Raises nothing but cancellation.
        """
        key, task = claim.key, self._app.tasks[claim.kind]
        try:
            while True:
                kept = None
                if claim.session is not None:
                    kept = await self.parking.take(claim, claim.session.id)
                if kept is None and claim.kept:
                    claim = await self._with_steps(claim)
                if self.released:
                    if kept is not None:
                        self.parking.drop(kept)
                    raise asyncio.CancelledError
                context = self._context(task, claim, attempt) if kept is None else kept.chat
                self.running[key] = context
                if context.lines is not None:
                    context.lines.start()
                try:
                    with context.trace.attempt(claim):
                        return await self._attempt(task, context, kept)
                except Continued as again:
                    claim = again_of(claim, again.payload)
        except LeaseLost as error:
            log.info("the lease was lost: %s", error, extra=logs.fields(claim))
        except HoldfastError as error:
            # The store is unavailable. The lease will expire and the execution run again.
            log.warning("cannot record the outcome: %s", error, extra=logs.fields(claim))
        finally:
            self.running.pop(key, None)

    async def _with_steps(self, claim: Claim) -> Claim:
        """Complete a claim that has the last step only, because the coroutine was kept."""
        steps = await self._engine.steps(claim.id)
        return replace(claim, steps={step.name: step.result for step in steps}, kept=False)

    def _context(
        self, task: Task[Any, Any, Any], claim: Claim, attempt: asyncio.Task[Any] | None
    ) -> Context:
        make = Chat if isinstance(task, Conversation) else Context
        return make(
            self._engine,
            claim,
            self._lease_ms,
            self._slots,
            attempt=attempt,
            keep_logs=self._keep_logs,
            encode_input=task.encode_input,
        )

    async def _attempt(
        self, task: Task[Any, Any, Any], context: Context, kept: Kept | None
    ) -> None:
        claim = context.claim
        try:
            result, content_type = await self._call(task, context, kept)
            frames = await context.last_frames()
        except AttemptPaused as pause:
            await self._engine.delay(claim.id, claim.lease, pause.delay_ms)
        except AttemptSuspended:
            pass
        except Continued:
            raise
        except AttemptLost as lost:
            log.info("stopped: %s", lost, extra=logs.fields(claim))
        except asyncio.CancelledError as error:
            if self._is_released(context):
                raise
            if context.lost:
                log.info("stopped: its lease was lost", extra=logs.fields(claim))
            else:
                await self._failed(context, error)
        except BaseException as error:  # noqa: BLE001 - any error of a task ends only its attempt
            await self._failed(context, error)
        else:
            await self._complete(context, result, content_type, frames)

    def _is_released(self, context: Context) -> bool:
        """Whether an attempt was cancelled because the worker stops."""
        if self.main is not None and self.main.cancelling():
            # The end of `asyncio.run` cancels the worker and, before it knows, its attempts.
            context.released = True
            context.lose()
        return context.released

    async def _complete(
        self,
        context: Context,
        result: bytes,
        content_type: str | None,
        frames: Sequence[NewFrame],
    ) -> None:
        """Record the result; in the meantime other code runs in the slot."""
        claim = context.claim
        # Claiming the next before the end of one with a quota would find the quota used up.
        is_lent = not claim.quotas and self._slots.settle()
        try:
            await self._engine.complete(
                claim.id, claim.lease, result, content_type=content_type, frames=frames
            )
        except InvalidInput as error:
            # Nothing was written, and nothing would be in a later attempt.
            await self._failed(context, error)
        finally:
            if is_lent:
                self._slots.settled()

    async def _call(
        self, task: Task[Any, Any, Any], context: Context, kept: Kept | None
    ) -> tuple[bytes, str | None]:
        """Call the task; its frames are in the store before the attempt pauses."""
        try:
            value = await (self._begin(task, context) if kept is None else self._continue(kept))
            context.finish()
            answer = task.signature.encode_result(value, task.name)
            checks.payload("result", answer[0])
            if self._app.after_hooks:
                await _call_hooks(self._app.after_hooks, context)
        except (AttemptSuspended, Continued):
            # It gave its lease back, or starts again: everything was written before.
            raise
        except Interruption:
            await context.flush()
            raise
        return answer

    async def _begin(self, task: Task[Any, Any, Any], context: Context) -> Any:
        if isinstance(context, Chat):
            context.open()
        arguments = task.arguments(context.claim.input)
        for name, resource in task.signature.resources.items():
            arguments[name] = await self.resources.open(resource)
        if self._app.before_hooks:
            await _call_hooks(self._app.before_hooks, context)
        if not task.is_async:
            return await self._call_blocking(task, context, arguments)
        if task.signature.context is not None:
            arguments[task.signature.context] = context
        if isinstance(context, Chat) and self.parking.most > 0:
            return await self.parking.run(context, task.fn(**arguments))
        return await task.fn(**arguments)

    async def _continue(self, kept: Kept) -> Any:
        if self._app.before_hooks:
            try:
                await _call_hooks(self._app.before_hooks, kept.chat)
            except BaseException:
                self.parking.drop(kept)
                raise
        return await self.parking.resume(kept)

    async def _call_blocking(
        self, task: Task[Any, Any, Any], context: Context, arguments: dict[str, Any]
    ) -> Any:
        if task.pool == "process":
            returned, value = await self._processes.run(task.fn, arguments)
        else:
            if task.signature.context is not None:
                arguments[task.signature.context] = self._blocking(context)
            # The thread gets the context variables of the attempt: its log lines, its span.
            call = partial(contextvars.copy_context().run, _run_here, task, context, arguments)
            returned, value = await self._threads.run(call)
        if returned:
            return value
        if isinstance(value, StopIteration):
            # StopIteration would end the coroutine instead of being raised.
            value = RuntimeError(f"StopIteration: {value}")
        raise value

    def _blocking(self, context: Context) -> SyncContext:
        loop = asyncio.get_running_loop()
        if isinstance(context, Chat):
            return SyncChat(context, loop, self._threads)
        return SyncContext(context, loop, self._threads)

    async def _failed(self, context: Context, error: BaseException) -> None:
        claim = context.claim
        with contextlib.suppress(Exception):
            await _call_hooks(self._app.error_hooks, context, error)
        with contextlib.suppress(AttemptLost, HoldfastError):
            await context.flush()
        context.trace.fail(error)
        if isinstance(error, JournalMismatch) and await self._suspended(context, error):
            return
        failure = failure_of(error)
        state, retry_at = await self._engine.fail(claim.id, claim.lease, failure)
        log.warning(
            "attempt failed: %s: %s; %s",
            failure.type,
            failure.message,
            f"next attempt at {retry_at}" if retry_at else f"the execution is {state}",
            # The message of Retry says why; any other error needs its traceback.
            exc_info=None
            if isinstance(error, Retry)
            else (type(error), error, tracebacks.of_task(error)),
            extra=logs.fields(claim),
        )

    async def _suspended(self, context: Context, error: JournalMismatch) -> bool:
        """Suspend an execution whose code does not fit; returns False if it must fail instead."""
        if not self._suspend_misfits:
            return False
        try:
            await misfits.suspend(self._engine, context.claim, error)
        except TooManyWaitpoints:
            return False
        log.error("suspended: %s", error, extra=logs.fields(context.claim))
        return True


def _run_here(task: Task[Any, Any, Any], context: Context, arguments: dict[str, Any]) -> Any:
    """Run a `def` task in this thread."""
    context.code_thread = threading.get_ident()
    return task.fn(**arguments)


def again_of(claim: Claim, payload: bytes) -> Claim:
    """Return a claim as the execution has it after it started again with another input."""
    return replace(
        claim,
        input=payload,
        steps={},
        continued=claim.continued + 1,
        kept=False,
        resumed=None,
        signals=(),
    )


def failure_of(error: BaseException) -> Failure:
    """Describe any exception that a task raised."""
    final = isinstance(error, GiveUp | InvalidInput | TaskError)
    name = error.code if isinstance(error, HoldfastError) else type(error).__name__
    message, trace = _shown(error)
    for share in (1, 4, 16, 64):
        failure = Failure(
            type=_one_line(name)[: bounds.ERROR_TYPE_CHARS] or "Error",
            message=message[: _MESSAGE_CHARS // share],
            retryable=not final,
            retry_after_ms=_retry_after(error),
            details={"traceback": trace[-(_TRACEBACK_CHARS // share) :]},
        )
        with contextlib.suppress(TooLarge):
            failure.to_json()
            return failure
    return Failure(type="Error", message="the error is too large to show")


def _retry_after(error: BaseException) -> int | None:
    if not isinstance(error, Retry):
        return None
    try:
        return optional_ms("after", error.after)
    except InvalidInput:
        log.warning("Retry(after=%r) is not a duration; the retry policy applies", error.after)
        return None


def _shown(error: BaseException) -> tuple[str, str]:
    """Return message and traceback; an exception of user code may fail even at that."""
    try:
        return _clean(str(error)), _clean(tracebacks.text(error))
    except Exception:  # noqa: BLE001 - see above
        return "the error cannot be shown", ""


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _one_line(text: str) -> str:
    return "".join(c for c in _clean(text) if c.isprintable())


async def _call_hooks(hooks: list[Any], *args: Any) -> None:
    for hook in hooks:
        answer = hook(*args)
        if inspect.isawaitable(answer):
            await answer
