"""The app: a store and the tasks that run on it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar, Unpack, overload

from holdfast.api import Engine
from holdfast.errors import TaskError, TaskNotFound
from holdfast.model import checks
from holdfast.model.schedules import NewSchedule
from holdfast.model.sessions import Send
from holdfast.model.store_urls import is_remote
from holdfast.services import Service
from holdfast.store.store import StoreSettings
from holdfast.worker.chat import Chat
from holdfast.worker.consumers import DEFAULT_BACKLOG, Consumer
from holdfast.worker.context import Context
from holdfast.worker.conversation import Conversation, ConversationDecorator, S
from holdfast.worker.durations import Duration
from holdfast.worker.graphs import Graph
from holdfast.worker.limits import DeclaredLimits
from holdfast.worker.queues import MessageQueue
from holdfast.worker.scheduling import ScheduleFields, declare
from holdfast.worker.sync_chat import SyncChat
from holdfast.worker.sync_context import SyncContext
from holdfast.worker.task import Pool, Task, TaskFields, TaskOptions
from holdfast.worker.worker import Worker, WorkerSettings

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Task[Any, Any, Any])
M = TypeVar("M")
F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_STORE = "embedded://.holdfast"

#: Short, so that a script that was killed continues soon after it is started again.
_RUN_LEASE_MS = 5_000

BusyPolicy = Literal["queue", "merge", "interrupt", "reject"]

#: Called with the context; `on_error` hooks also get the error.
Hook = Callable[..., Awaitable[None] | None]


class TaskDecorator:
    """Turns functions into tasks, with options."""

    def __init__(
        self,
        app: App,
        name: str | None,
        pool: Pool,
        options: TaskOptions,
        on_made: Callable[[Task[Any, Any, Any]], None] | None = None,
    ) -> None:
        self._app = app
        self._on_made = on_made
        self._name = name
        self._pool = pool
        self._options = options

    @overload
    def __call__(
        self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]]
    ) -> Task[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[SyncContext, P], R]) -> Task[P, R, R]: ...
    @overload
    def __call__(
        self, fn: Callable[P, Coroutine[Any, Any, R]]
    ) -> Task[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, fn: Callable[P, R]) -> Task[P, R, R]: ...
    def __call__(self, fn: Callable[..., Any]) -> Task[Any, Any, Any]:
        """Turn a function into a task."""
        name = self._name or fn.__name__
        task: Task[Any, Any, Any] = Task(
            self._app, fn, name=name, pool=self._pool, options=self._options
        )
        if self._on_made is not None:
            self._on_made(task)
        return self._app.add(task)


class App:
    """A store and the tasks that run on it.

    `async with app:` opens the store for submitting and reading; `app.run(...)` and
    `holdfast worker module:app` run tasks.
    """

    def __init__(
        self,
        store: str | None = None,
        *,
        settings: StoreSettings | None = None,
        key: str | None = None,
    ) -> None:
        #: Where the store is: the argument, HOLDFAST_STORE, or an embedded one. `http://HOST:PORT`
        #: is a server; `key`, or HOLDFAST_KEY, is the API key for it.
        self.store: str = store or os.environ.get("HOLDFAST_STORE") or DEFAULT_STORE
        self.tasks: dict[str, Task[Any, Any, Any]] = {}
        #: Schedules that workers put into the store, by id.
        self.schedules: dict[str, NewSchedule] = {}
        #: Quotas and budgets that workers create if the store lacks them.
        self.limits: DeclaredLimits = DeclaredLimits()
        self.consumers: list[Consumer] = []
        #: What workers run beside the tasks.
        self.services: list[Service] = []
        #: How replies of conversations reach users, by name.
        self.senders: dict[str, Send] = {}
        self.before_hooks: list[Hook] = []
        self.after_hooks: list[Hook] = []
        self.error_hooks: list[Hook] = []
        self._settings = settings
        self._key = key
        self._engine: Engine | None = None
        self._users = 0
        self._opened: contextlib.AsyncExitStack | None = None

    @property
    def engine(self) -> Engine:
        """The open engine; raises if the app is not open."""
        if self._engine is None:
            message = "the app is not open: use `async with app:`, or app.run(...)"
            raise TaskError(message)
        return self._engine

    async def __aenter__(self) -> Self:
        if self._engine is None:
            self._opened = contextlib.AsyncExitStack()
            opening = self._open()
            self._engine = await self._opened.enter_async_context(opening)
        self._users += 1
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._users -= 1
        if self._opened is not None and self._users == 0:
            opened, self._opened, self._engine = self._opened, None, None
            await opened.aclose()

    def _open(self) -> contextlib.AbstractAsyncContextManager[Engine]:
        if is_remote(self.store):
            from holdfast.client import Client  # noqa: PLC0415 - only remote apps need it

            return Client(self.store, key=self._key)
        from holdfast.engine import open_engine  # noqa: PLC0415 - only near apps need it

        return open_engine(self.store, self._settings)

    def attach(self, engine: Engine) -> Self:
        """Use an engine that the caller opens and closes, for example a test."""
        self._engine = engine
        return self

    @overload
    def task(
        self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> Task[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def task(self, fn: Callable[Concatenate[SyncContext, P], R], /) -> Task[P, R, R]: ...
    @overload
    def task(
        self, fn: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Task[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def task(self, fn: Callable[P, R], /) -> Task[P, R, R]: ...
    @overload
    def task(
        self, *, name: str | None = None, pool: Pool = "thread", **options: Unpack[TaskFields]
    ) -> TaskDecorator: ...
    def task(  # type: ignore[misc]
        self,
        fn: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        pool: Pool = "thread",
        **options: Unpack[TaskFields],
    ) -> Any:
        """Declare a task: `@app.task`, or `@app.task(retries=3, timeout=30, ...)`.

        The options are those of TaskOptions. `name` is the kind of its executions; set it so that
        the function can be renamed safely. `pool="process"` runs a plain function in a separate
        process, for work that keeps a CPU busy.
        """
        checks.known_fields("task", options, TaskOptions.__dataclass_fields__)
        decorator = TaskDecorator(self, name, pool, TaskOptions(**options))
        return decorator if fn is None else decorator(fn)

    @overload
    def conversation(
        self, fn: Callable[Concatenate[Chat, P], Coroutine[Any, Any, R]], /
    ) -> Conversation[P, R, Coroutine[Any, Any, R]]: ...
    @overload
    def conversation(
        self, fn: Callable[Concatenate[SyncChat, P], R], /
    ) -> Conversation[P, R, R]: ...
    @overload
    def conversation(
        self,
        *,
        name: str | None = None,
        busy: BusyPolicy = "queue",
        apology: str | None = None,
        **options: Unpack[TaskFields],
    ) -> ConversationDecorator: ...
    def conversation(  # type: ignore[misc]
        self,
        fn: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        busy: BusyPolicy = "queue",
        apology: str | None = None,
        **options: Unpack[TaskFields],
    ) -> Any:
        """Declare a conversation: `@app.conversation`, or with options.

        The function takes a Chat, and perhaps a `state` to continue with. `busy` says what happens
        to messages that arrive while a turn runs; `apology` is what users read when the
        conversation fails. Further options are those of tasks.
        """
        checks.known_fields("conversation", options, TaskOptions.__dataclass_fields__)
        decorator = ConversationDecorator(self, name, busy, apology, TaskOptions(**options))
        return decorator if fn is None else decorator(fn)

    def sender(self, name: str) -> Callable[[S], S]:
        """Declare how replies reach users: `@app.sender("mail")` above `async def send(reply)`.

        It is called for the replies of one session in order. If it raises, the reply is sent
        again later, with the same `reply.idempotency_key`.
        """
        checks.name("name", name)

        def declared(send: S) -> S:
            if name in self.senders:
                message = f"two senders are called {name!r}: give one of them another name"
                raise TaskError(message, name=name)
            self.senders[name] = send
            return send

        return declared

    def schedule(self, **fields: Unpack[ScheduleFields]) -> Callable[[T], T]:
        """Submit a task on a schedule: `@app.schedule(cron="0 6 * * *")` above `@app.task`.

        Workers write the schedule to the store when they start, and it stays there; a paused
        schedule stays paused. The fields are those of ScheduleFields.
        """
        checks.known_fields("schedule", fields, ScheduleFields.__annotations__)

        def declared(task: T) -> T:
            plan = declare(task, fields)
            if plan.id in self.schedules:
                message = f"two schedules are called {plan.id!r}: give one of them another id"
                raise TaskError(message, id=plan.id)
            self.schedules[plan.id] = plan
            return task

        return declared

    def quota(
        self,
        name: str,
        *,
        concurrent: int | None = None,
        starts: int | None = None,
        per: Duration | None = None,
    ) -> str:
        """Declare a quota: a maximum of concurrent executions, or of starts per duration.

        Workers that start create it if it does not exist; they never change an existing one, and
        `holdfast doctor` shows where the two differ. Returns its name, for
        `@app.task(quotas=[...])`.
        """
        return self.limits.add_quota(name, concurrent, starts, per)

    def budget(
        self,
        name: str,
        *,
        hard: Mapping[str, int] | None = None,
        soft: Mapping[str, int] | None = None,
        reset: Duration | None = None,
        on_hard: str = "refuse",
        **dimensions: int,
    ) -> str:
        """Declare a budget: `app.budget("llm", hard={"tokens": 100_000}, reset=86_400)`.

        A keyword is a hard limit, too: `tokens=100_000`. Workers that start create the budget if it
        does not exist; they never change an existing one, and `holdfast doctor` shows where the two
        differ. Returns its name, for `@app.task(budgets=[...])`.
        """
        return self.limits.add_budget(
            name, {**dimensions, **(hard or {})}, soft or {}, reset, on_hard
        )

    def consumer(
        self,
        queue: str,
        *,
        group: str | None = None,
        backlog: int = DEFAULT_BACKLOG,
        name: str | None = None,
        pool: Pool = "thread",
        **options: Unpack[TaskFields],
    ) -> TaskDecorator:
        """Declare a task that runs for every message of a queue, or of one of its groups.

        The function has one parameter for the message. Workers turn messages into executions as
        long as fewer than `backlog` of them have not ended.
        """
        checks.known_fields("consumer", options, TaskOptions.__dataclass_fields__)

        def subscribe(task: Task[Any, Any, Any]) -> None:
            self.consumers.append(Consumer(task, queue, group, backlog))

        return TaskDecorator(self, name, pool, TaskOptions(**options), subscribe)

    def serve(self, service: Service) -> None:
        """Run a service in every worker of the app; one that fails is started again."""
        self.services.append(service)

    @overload
    def queue(self, name: str) -> MessageQueue[Any]: ...
    @overload
    def queue(self, name: str, model: type[M]) -> MessageQueue[M]: ...
    def queue(self, name: str, model: Any = Any) -> MessageQueue[Any]:
        """Return a queue whose messages are values of a type; `bytes` travel as they are."""
        return MessageQueue(lambda: self.engine, name, model)

    def add(self, task: Task[Any, Any, Any]) -> Task[Any, Any, Any]:
        """Add a task; its name must be new."""
        if task.name in self.tasks:
            message = f"two tasks are called {task.name!r}: give one of them another name"
            raise TaskError(message, name=task.name)
        self.tasks[task.name] = task
        return task

    def find(self, name: str) -> Task[Any, Any, Any]:
        """Return a task by name; raises TaskNotFound."""
        if name not in self.tasks:
            known = ", ".join(sorted(self.tasks)) or "none"
            message = f"the app has no task {name!r}; it has: {known}"
            raise TaskNotFound(message, name=name)
        return self.tasks[name]

    def graph(
        self,
        *,
        tenant: str = "default",
        deadline: Duration | None = None,
        retention: Duration | None = None,
        idempotency_key: str | None = None,
        budgets: Sequence[str] = (),
        on_end: str | None = None,
    ) -> Graph:
        """Build a graph of tasks: `async with app.graph() as g: ...`."""
        return Graph(
            lambda: self.engine,
            tenant=tenant,
            deadline=deadline,
            retention=retention,
            idempotency_key=idempotency_key,
            budgets=tuple(budgets),
            on_end=on_end,
        )

    def before(self, hook: F) -> F:
        """Call a function with the context before every attempt."""
        self.before_hooks.append(hook)
        return hook

    def after(self, hook: F) -> F:
        """Call a function with the context after every attempt that succeeded."""
        self.after_hooks.append(hook)
        return hook

    def on_error(self, hook: F) -> F:
        """Call a function with the context and the error after every attempt that failed."""
        self.error_hooks.append(hook)
        return hook

    @contextlib.asynccontextmanager
    async def worker(self, settings: WorkerSettings | None = None) -> AsyncIterator[Worker]:
        """Run a worker in this process while the block runs; then drain it."""
        async with self:
            worker = Worker(self, settings or WorkerSettings())
            running = asyncio.ensure_future(worker.run())
            try:
                await worker.wait_started(running)
                yield worker
            finally:
                worker.drain()
                await running

    def run(self, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Submit a task, run a worker until it has ended, and return its result.

        For scripts and first steps. An execution that a crash left behind continues as well, a few
        seconds after the start. With an id, every run refers to the same execution:
        `app.run(order.options(id="order-17"), 1250)`.
        """

        async def go() -> R:
            async with self.worker(WorkerSettings(lease_ms=_RUN_LEASE_MS)):
                handle = await task.submit(*args, **kwargs)
                return await handle.result()

        return asyncio.run(go())
