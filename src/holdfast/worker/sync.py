"""The app for code without an event loop: a thin wrapper with the same calls, which block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Generic, ParamSpec, Self, TypeVar

from holdfast.model.executions import Execution, ExecutionId
from holdfast.model.explanations import Explanation
from holdfast.model.frames import Frame
from holdfast.model.states import State
from holdfast.worker.app import App
from holdfast.worker.durations import Duration
from holdfast.worker.graphs import SyncGraph
from holdfast.worker.handle import Handle
from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class SyncClient:
    """Submits and reads from blocking code: `with SyncClient(app) as client: ...`.

    It runs an event loop in its own thread; any thread may call it.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="holdfast-client", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.wait(self._app.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.wait(self._app.__aexit__(*error))
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the app on its loop and return the result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def submit(self, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> SyncHandle[R]:
        """Submit an execution."""
        return SyncHandle(self, self.wait(task.submit(*args, **kwargs)))

    def submit_many(
        self, task: Task[P, R, Any], inputs: Sequence[Mapping[str, Any]]
    ) -> list[SyncHandle[R]]:
        """Submit one execution for each mapping of arguments."""
        return [SyncHandle(self, handle) for handle in self.wait(task.submit_many(inputs))]

    def graph(
        self,
        *,
        tenant: str = "default",
        deadline: Duration | None = None,
        idempotency_key: str | None = None,
    ) -> SyncGraph:
        """Build a graph of tasks: `with client.graph() as g: ...`."""
        graph = self._app.graph(tenant=tenant, deadline=deadline, idempotency_key=idempotency_key)
        return SyncGraph(graph, self.wait)


class SyncHandle(Generic[R]):
    """A handle whose calls block."""

    def __init__(self, client: SyncClient, handle: Handle[R]) -> None:
        self._client = client
        self._handle = handle
        self.id: ExecutionId = handle.id
        self.duplicate: bool = handle.duplicate

    def __repr__(self) -> str:
        return f"SyncHandle({self.id!r})"

    def result(self, *, timeout: Duration | None = None) -> R:
        """Wait for the result; raises ExecutionFailed or ResultNotReady."""
        return self._client.wait(self._handle.result(timeout=timeout))

    def stream(self, *, after: int = 0) -> Iterator[Frame]:
        """Read its stream live; the last frame is of type `end`."""
        frames = self._handle.stream(after=after)
        try:
            while True:
                frame = self._client.wait(_next(frames))
                if frame is None:
                    return
                yield frame
        finally:
            self._client.wait(frames.aclose())

    def summary(self) -> dict[str, Any]:
        """Return the document that it updates with `ctx.stream.summary`."""
        return self._client.wait(self._handle.summary())

    def state(self) -> State:
        """Return its state."""
        return self._client.wait(self._handle.state())

    def describe(self) -> Execution:
        """Return the description of the execution."""
        return self._client.wait(self._handle.describe())

    def cancel(self, reason: str = "") -> None:
        """Cancel it."""
        self._client.wait(self._handle.cancel(reason))

    def explain(self) -> Explanation:
        """Say why it is not running."""
        return self._client.wait(self._handle.explain())


async def _next(frames: AsyncIterator[Frame]) -> Frame | None:
    return await anext(frames, None)
