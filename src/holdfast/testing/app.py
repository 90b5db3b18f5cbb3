"""An app under test: its tasks run in this process, on a real store whose clock the test sets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ParamSpec, Self, TypeVar

from holdfast import api
from holdfast.engine.limit_holds import blocking_limit
from holdfast.errors import ExecutionFailed
from holdfast.model import bounds, webhooks
from holdfast.model.executions import Execution
from holdfast.model.ids import new_id
from holdfast.model.listing import Filter
from holdfast.model.moments import to_ms
from holdfast.model.quotas import Quota
from holdfast.model.states import State
from holdfast.model.waitpoints import Source
from holdfast.store.grants import Wanted
from holdfast.testing.answers import Answer, Answers
from holdfast.testing.attempts import open_attempts
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer
from holdfast.testing.stores import TestStore, open_test_store
from holdfast.testing.watching import WatchedEngine, Write
from holdfast.worker.app import App
from holdfast.worker.durations import Duration
from holdfast.worker.durations import to_ms as duration_ms
from holdfast.worker.encoding import Encoding
from holdfast.worker.handle import Handle
from holdfast.worker.limits import create_limits
from holdfast.worker.parking import DEFAULT_KEPT
from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")

_OPEN_STATES = (
    State.WAITING,
    State.DELAYED,
    State.ACTIVE,
    State.RATE_LIMITED,
    State.SUSPENDED,
)
_ANY = Encoding("payload", Any)


class NotIdle(AssertionError):
    """There is work left that has not ended."""


class TestApp:
    """Runs an app's tasks on demand: `async with TestApp(app) as t: ...`.

    The app is attached to an empty store with a settable clock: the given store, or a new store
    on the given server or on a server of its own. Nothing runs or fires by itself.
    """

    __test__ = False

    def __init__(
        self,
        app: App,
        *,
        store: TestStore | None = None,
        server: TestServer | None = None,
        resources: Mapping[Callable[[], Any], Any] | None = None,
        lanes: Sequence[str] | None = None,
        capabilities: Sequence[str] | None = None,
        slots: int = 100,
        lease_ms: int = 30_000,
        kept: int = DEFAULT_KEPT,
    ) -> None:
        """Prepare a test.

        Args:
            app: the app.
            store: an open store of this event loop.
            server: the server on which to open a store.
            resources: values by factory, used instead of the resources that the factories open.
            lanes: the lanes to serve; all by default.
            capabilities: the capabilities of the worker; all by default.
            slots: the most executions to run at once.
            lease_ms: the length of leases, which are renewed whenever the clock moves.
            kept: the most conversations to keep while they wait; 0 runs all from their journals.
        """
        self.app = app
        #: The last error of each execution that failed an attempt, by id.
        self.errors: dict[str, Exception] = {}
        self._given = store
        self._server = server
        self._resources = dict(resources or {})
        self._lanes = lanes
        self._capabilities = capabilities
        self._seen_lanes = {task.lane for task in app.tasks.values()}
        self._seen_capabilities: set[str] = set()
        self._slots = slots
        self._lease_ms = lease_ms
        self._kept = kept
        self._answers = Answers()
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            store = self._given
            if store is None:
                store = await stack.enter_async_context(open_test_store(self._server))
            self.store = store
            self.engine: WatchedEngine = WatchedEngine(store, store.watch)
            stack.push_async_callback(self.engine.close)
            stack.callback(_restore_engine, self.app, _engine_of(self.app))
            self.app.attach(self.engine)
            attempts = open_attempts(
                self.app,
                self.engine,
                store.watch,
                slots=self._slots,
                lease_ms=self._lease_ms,
                resources=self._resources,
                kept=self._kept,
            )
            self._attempts = await stack.enter_async_context(attempts)
            self._listen(stack)
            await create_limits(self.app)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._stack.aclose()

    def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        def note_error(context: Any, error: Exception) -> None:
            self.errors[context.id] = error

        async def keep_leases(ms: int) -> None:
            await self._attempts.renew(ms + self._lease_ms)

        self.app.error_hooks.append(note_error)
        stack.callback(self.app.error_hooks.remove, note_error)
        self.clock.before_move.append(keep_leases)
        stack.callback(self.clock.before_move.remove, keep_leases)

    @property
    def clock(self) -> Clock:
        """The time of the store."""
        return self.store.clock

    @property
    def held(self) -> frozenset[str]:
        """The ids of executions whose lease the worker holds now."""
        return frozenset(self._attempts.claims)

    @contextlib.asynccontextmanager
    async def fresh(self) -> AsyncIterator[TestApp]:
        """Attach the app to an empty store for as long as the block runs."""
        async with TestApp(
            self.app,
            store=await self.store.fresh(),
            resources=self._resources,
            lanes=self._lanes,
            capabilities=self._capabilities,
            slots=self._slots,
            lease_ms=self._lease_ms,
            kept=self._kept,
        ) as other:
            other._answers = Answers(self._answers.all)
            yield other

    def answer(
        self,
        waitpoint: str,
        signal: str = "answer",
        payload: Any = None,
        *,
        source: str | Source = "",
        after: Duration = 0,
    ) -> None:
        """Answer executions that wait at a waitpoint of this name, from now on.

        A task that waits in `ctx.signals` gets the payload as a signal of this name, at once.

        Each execution gets the answers for a name in the order of these calls, each answer once:
        two approvers need two calls, and so do two consecutive waits.

        Args:
            waitpoint: the name of the waitpoint.
            signal: the name of the signal, such as `approve` or `deny`.
            payload: the payload of the signal.
            source: who answers: a source, or the identity of a person.
            after: how long after the start of the wait the answer arrives.
        """
        if isinstance(source, str):
            source = Source(type="user" if source else "", identity=source)
        delay = timedelta(milliseconds=duration_ms("after", after))
        item = Answer(
            waitpoint=waitpoint,
            signal=signal,
            payload=_ANY.encode(payload),
            source=source,
            after=delay,
        )
        self._answers.all.append(item)

    async def run(self, task: Task[P, R, Any], *args: P.args, **kwargs: P.kwargs) -> R:
        """Submit a task, run until idle, and return its result.

        Raises:
            ExecutionFailed: it ended without a result; the error of the function is the cause.
            NotIdle: it has not ended; the message says why.
        """
        handle = await task.submit(*args, **kwargs)
        await self.run_until_idle()
        return await self.result(handle)

    async def call(self, task: Task[P, R, Any], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a task's function once, with a real context; raises what the function raises."""
        handle = await task.options(retries=0).submit(*args, **kwargs)
        await self.run_until_idle()
        if handle.id in self.errors:
            raise self.errors[handle.id]
        return await self.result(handle)

    async def result(self, handle: Handle[R]) -> R:
        """Return the result of an execution that has ended, without waiting."""
        if await self.engine.outcome(handle.id) is None:
            explanation = await handle.explain()
            hint = " Answer it with t.answer(...)." if explanation.state is State.SUSPENDED else ""
            raise NotIdle(f"execution {handle.id} has not ended. {explanation.why}{hint}")
        try:
            return await handle.result()
        except ExecutionFailed as failed:
            raise failed from self.errors.get(handle.id)

    async def run_until_idle(
        self, *, advance: bool = True, most: int = 1_000, timeout_s: float = 30
    ) -> int:
        """Run everything that is or becomes ready; return how many attempts ran.

        With `advance` the clock moves to the next due time, repeatedly, until no timer is left that
        could make work ready: sleeps and backoffs end, waits time out, lost leases expire,
        deadlines pass. Without it the clock stands still. Waiting executions get their answers;
        see `answer`. An attempt that waits for a child stays alive between calls.

        Raises:
            NotIdle: more than `most` attempts, or `timeout_s` of real time.
        """
        started = 0
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    self.store.watch.changed.clear()
                    await self.beat()
                    started += await self._claim()
                    if started > most:
                        raise NotIdle(f"there is still work after {most} attempts; raise `most`?")
                    if await self._attempts.go_on():
                        await self.store.watch.changed.wait()
                    elif not self.store.watch.changed.is_set() and not await self._look_ahead(
                        advance
                    ):
                        return started
        except TimeoutError:
            running = [f"{claim.kind} ({claim.id})" for claim in self._attempts.claims.values()]
            names = ", ".join(running) or "nothing"
            raise NotIdle(f"not idle after {timeout_s} s; running: {names}") from None
        finally:
            self._attempts.raise_broken()

    async def beat(self) -> None:
        """Fire timers and send heartbeats once.

        Due timers fire, leases are renewed, and attempts that lost theirs are notified. For tests
        that move the clock, or cancel, while run_until_idle runs in another task.
        """
        fired, carried = await self.clock.tick(), await self.engine.courier.carry_all()
        if fired or carried:
            self.store.watch.changed.set()
        await self._attempts.renew(self._lease_ms)

    def kill_after(self, step: str) -> None:
        """Kill the worker of the next execution that records this step, right after the record.

        The attempt writes nothing more. When the clock passes the end of its lease, the execution
        starts a new attempt, as after a `kill -9`.
        """
        self.kill_when(lambda write: write.what == "step" and write.name == step)

    def kill_when(self, condition: Callable[[Write], bool]) -> None:
        """Kill the worker after the next write for which a condition holds."""
        self._attempts.kill_when = condition

    async def _claim(self) -> int:
        lanes = tuple(self._seen_lanes) if self._lanes is None else self._lanes
        capabilities = self._capabilities
        if capabilities is None:
            capabilities = tuple(self._seen_capabilities)
        started = 0
        for tag in self.store.tags():
            free = min(self._attempts.slots.free, bounds.CLAIM_ITEMS)
            if free <= 0:
                break
            wanted = Wanted(
                request=new_id(),
                worker="test",
                lanes=lanes,
                capabilities=capabilities,
                limit=free,
                lease_ms=self._lease_ms,
                kinds=tuple(self.app.tasks),
            )
            claims, _ = await self.engine.admission.claim(tag, wanted)
            for claim in await self.engine.payloads.open_claims(claims):
                self._attempts.start(claim)
            started += len(claims)
        return started

    async def _look_ahead(self, advance: bool) -> bool:  # noqa: FBT001
        """Find more work: lanes and capabilities not yet served, or a time to advance to."""
        executions = await self._open_executions()
        if self._learn_routes(executions):
            return True
        answered, dues = await self._answers.give(self.engine, executions, self.clock.now)
        if answered:
            return True
        dues += [
            at
            for execution in executions
            for at in await self._dues(execution)
            if at > self.clock.now
        ]
        for execution in executions:
            limit = await blocking_limit(self.store, execution)
            if limit is not None:
                at = limit.frees_at if isinstance(limit, Quota) else limit.next_reset_at
                dues += [at] if at is not None and at > self.clock.now else []
        if not advance or not dues:
            return False
        await self.clock.advance(to_ms(min(dues)) - self.clock.now_ms)
        return True

    def _learn_routes(self, executions: Sequence[Execution]) -> bool:
        """Serve new lanes and capabilities of waiting executions."""
        waiting = [execution for execution in executions if execution.state is State.WAITING]
        for execution in waiting:
            self.app.find(execution.kind)
        lanes = {execution.lane for execution in waiting} - self._seen_lanes
        capabilities = {name for execution in waiting for name in execution.requires}
        capabilities -= self._seen_capabilities
        self._seen_lanes |= lanes
        self._seen_capabilities |= capabilities
        return bool(lanes or capabilities)

    async def _dues(self, execution: Execution) -> list[datetime]:
        """Return the times at which timers affect an execution."""
        moments = [execution.deadline_at, execution.run_at, execution.timeout_at]
        if execution.state is State.SUSPENDED:
            moments.append(await self.clock.due_of(execution.id))
        if execution.id not in self._attempts.claims:
            moments.append(execution.lease_expires_at)
        return [at for at in moments if at is not None]

    async def _open_executions(self) -> list[Execution]:
        executions: list[Execution] = []
        for state in _OPEN_STATES:
            query, cursor = Filter(state=state), None
            while True:
                page = await self.engine.list(query, limit=bounds.PAGE_ITEMS, cursor=cursor)
                # Deliveries of webhooks are not work of the app: they wait for a real process.
                executions += [item for item in page.items if item.kind != webhooks.KIND]
                cursor = page.next_cursor
                if cursor is None:
                    break
        return executions


def _engine_of(app: App) -> api.Engine | None:
    return app._engine  # noqa: SLF001 - there is no public way to ask without raising


def _restore_engine(app: App, engine: api.Engine | None) -> None:
    app._engine = engine  # noqa: SLF001 - there is no public way to detach
