"""Tasks: plain functions that can be submitted."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
)

from holdfast.errors import HoldfastError, InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.quotas import Window
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.tracing import current_traceparent, submission
from holdfast.worker.context import Context
from holdfast.worker.durations import Duration, optional_ms, to_ms
from holdfast.worker.handle import Handle
from holdfast.worker.signature import Signature, inspect_function
from holdfast.worker.sync_context import SyncContext

if TYPE_CHECKING:
    from holdfast.worker.app import App

P = ParamSpec("P")
R = TypeVar("R")
#: The return type of a direct call of the function: a coroutine, if it is async.
C = TypeVar("C")

Pool = Literal["thread", "process"]

#: Small enough that other tasks of the event loop can run in between.
_CHUNK = 100
_CHUNKS_UNDER_WAY = 4

#: With jitter, so that tasks that failed together are not retried together.
DEFAULT_BACKOFF = Backoff(jitter=0.2)


class TaskFields(TypedDict, total=False):
    """The options of a task as keyword arguments; TaskOptions describes them."""

    lane: str
    tenant: str
    priority: int
    retries: int | RetryPolicy
    timeout: Duration | None
    deadline: Duration | None
    requires: Sequence[str]
    max_reclaims: int | None
    retention: Duration | None
    on_end: str | None
    on_parent_end: str
    tags: Mapping[str, str]
    id: str | None
    idempotency_key: str | None
    delay: Duration | None
    run_at: datetime | None
    budgets: Sequence[str]
    quotas: Sequence[str]
    debounce: tuple[str, Duration] | None
    throttle: tuple[str, Duration] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """The options of a task's executions. Durations are seconds or timedelta."""

    lane: str = "default"
    tenant: str = "default"
    priority: int = 0
    #: Tries after the first, or a whole policy.
    retries: int | RetryPolicy = 0
    #: A longer attempt is ended and uses up a retry.
    timeout: Duration | None = None
    #: The execution expires this long after its submission.
    deadline: Duration | None = None
    requires: Sequence[str] = ()
    max_reclaims: int | None = None
    retention: Duration | None = None
    #: The URL of a webhook that is called when an execution has ended.
    on_end: str | None = None
    #: What happens to a child of this task when its parent ends: keep, cancel or fail_parent.
    on_parent_end: str = "keep"
    tags: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    idempotency_key: str | None = None
    delay: Duration | None = None
    run_at: datetime | None = None
    #: Budgets that its executions spend from.
    budgets: Sequence[str] = ()
    #: Quotas that must admit an execution before it starts.
    quotas: Sequence[str] = ()
    #: A key and a time: the last submission within it wins.
    debounce: tuple[str, Duration] | None = None
    #: A key and a time: the first submission within it wins.
    throttle: tuple[str, Duration] | None = None

    def policy(self) -> RetryPolicy | None:
        """Return the retry policy."""
        if isinstance(self.retries, RetryPolicy):
            return self.retries
        checks.integer("retries", self.retries, 0, bounds.MAX_ATTEMPTS - 1)
        if self.retries == 0:
            return None
        return RetryPolicy(max_attempts=self.retries + 1, backoff=DEFAULT_BACKOFF)

    def new_execution(self, kind: str) -> NewExecution:
        """Return the execution to submit, without its input; raises InvalidInput."""
        return NewExecution(
            kind=kind,
            id=self.id,
            tenant=self.tenant,
            lane=self.lane,
            priority=self.priority,
            requires=cast("tuple[str, ...]", self.requires),
            delay_ms=optional_ms("delay", self.delay),
            run_at=self.run_at,
            deadline_ms=optional_ms("deadline", self.deadline),
            attempt_timeout_ms=optional_ms("timeout", self.timeout),
            retry=self.policy(),
            max_reclaims=self.max_reclaims,
            idempotency_key=self.idempotency_key,
            tags=self.tags,
            retention_ms=optional_ms("retention", self.retention),
            on_end=self.on_end,
            on_parent_end=self.on_parent_end,
            budgets=cast("tuple[str, ...]", self.budgets),
            quotas=cast("tuple[str, ...]", self.quotas),
            debounce=_window("debounce", self.debounce),
            throttle=_window("throttle", self.throttle),
            # All options are stated here, and the function's hints check the input.
            check=False,
            unset=frozenset(),
        )


def _window(field_name: str, value: tuple[str, Duration] | None) -> Window | None:
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2:  # noqa: PLR2004
        checks.refuse(field_name, "must be a pair of key and duration", value)
    key, duration = value
    return Window(key, to_ms(field_name, duration))


class Task(Generic[P, R, C]):
    """A function that can be submitted. Calling it directly runs it here, without durability."""

    def __init__(
        self,
        app: App,
        fn: Callable[..., C],
        *,
        name: str,
        pool: Pool = "thread",
        options: TaskOptions | None = None,
    ) -> None:
        self.app = app
        self.fn = fn
        self.name: str = checks.kind("name", name)
        self.pool: str = checks.one_of("pool", pool, ("thread", "process"))
        self.is_async: bool = inspect.iscoroutinefunction(fn)
        self.signature: Signature = inspect_function(fn, (Context, SyncContext))
        if pool == "process" and (self.is_async or self.signature.context is not None):
            message = f"task {name}: pool='process' is for plain functions without a context"
            raise InvalidInput(message, field="pool")
        self._options = options or TaskOptions()
        self._template = self._options.new_execution(self.name)
        self.__doc__ = fn.__doc__
        self.__name__: str = getattr(fn, "__name__", name)

    def __repr__(self) -> str:
        return f"Task({self.name!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> C:
        """Call the function itself."""
        return self.fn(*args, **kwargs)

    @property
    def template(self) -> NewExecution:
        """The execution to submit, without its input."""
        return self._template

    @property
    def lane(self) -> str:
        """The lane of its executions."""
        return self._options.lane

    def options(self, **changes: Unpack[TaskFields]) -> Self:
        """Return the same task with other options for its submissions."""
        checks.known_fields("options", changes, TaskOptions.__dataclass_fields__)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._options = replace(self._options, **changes)
        other._template = other._options.new_execution(self.name)
        return other

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Submit an execution; when this returns, it is stored durably."""
        engine = self.app.engine
        with submission(self.name, self._template.tenant):
            (answer,) = await engine.submit_many([self._item(args, kwargs)])
            if isinstance(answer, HoldfastError):
                raise answer
        return self._handle(answer)

    async def submit_many(self, inputs: Sequence[Mapping[str, Any]]) -> list[Handle[R]]:
        """Submit one execution for each mapping of arguments; raises the first refusal.

        Accepted executions stay accepted: use ids or idempotency keys to submit again safely.
        """
        with submission(self.name, self._template.tenant):
            return await self._submit_many(inputs)

    async def _submit_many(self, inputs: Sequence[Mapping[str, Any]]) -> list[Handle[R]]:
        engine = self.app.engine
        chunks: list[asyncio.Future[list[Submitted | HoldfastError]]] = []
        try:
            for start in range(0, len(inputs), _CHUNK):
                items = [self._item((), dict(given)) for given in inputs[start : start + _CHUNK]]
                chunks.append(asyncio.ensure_future(engine.submit_many(items)))
                # The store works on some chunks while the next one is encoded; other callers in
                # this process can run in between.
                if len(chunks) >= _CHUNKS_UNDER_WAY:
                    await chunks[-_CHUNKS_UNDER_WAY]
                else:
                    await asyncio.sleep(0)
        finally:
            await asyncio.gather(*chunks, return_exceptions=True)
        handles: list[Handle[R]] = []
        for answer in itertools.chain.from_iterable(chunk.result() for chunk in chunks):
            if isinstance(answer, HoldfastError):
                raise answer
            handles.append(self._handle(answer))
        return handles

    def describe(self) -> dict[str, Any]:
        """Return a description for tools: JSON Schema, options, documentation."""
        about = (self.fn.__doc__ or "").strip()
        options = self._template.chosen()
        options.pop("lane", None)
        description = {
            **self.signature.schema(),
            "lane": self.lane,
            "description": about,
            "options": options,
        }
        limits = [limit.view() for limit in self.app.limits.named_by(self.template)]
        return {**description, "limits": limits} if limits else description

    def arguments(self, payload: bytes) -> dict[str, Any]:
        """Return the arguments of the function from an input; raises InvalidInput."""
        return self.signature.decode(payload)

    def encode_input(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """Return an input with which an execution starts again; raises InvalidInput."""
        return self.signature.encode(args, kwargs)

    def handle(self, execution_id: str) -> Handle[R]:
        """Return a handle on an execution that was submitted earlier."""
        checked = checks.execution_id("id", execution_id)
        return self._handle(Submitted(id=checked, state=None))  # type: ignore[arg-type]

    def partial_item(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], is_promised: Callable[[Any], bool]
    ) -> tuple[NewExecution, dict[str, Any]]:
        """Return the execution that a graph submits, and the arguments that come from upstreams."""
        payload, promised = self.signature.encode_partly(args, kwargs, is_promised)
        return self._template.with_input(payload), promised

    def item(self, arguments: Mapping[str, Any]) -> NewExecution:
        """Return the execution that `submit` would create with these arguments."""
        return self._item((), dict(arguments))

    def _item(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NewExecution:
        payload = self.signature.encode(args, kwargs)
        return self._template.with_input(payload, current_traceparent())

    def _handle(self, answer: Submitted) -> Handle[R]:
        decode = self.signature.decode_result
        return Handle(self.app.engine, answer.id, decode, duplicate=answer.duplicate)
