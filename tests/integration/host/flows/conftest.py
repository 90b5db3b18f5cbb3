"""Flows that run as conversations on a real store."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from holdfast import App
from holdfast.host.flows.declaring import declare_flow
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.runners import ComponentCall, NodeFailed, Runners
from holdfast.testing import Talk, conversation
from holdfast.testing.servers import TestServer

Talking = Callable[..., AbstractAsyncContextManager[Talk]]


class Orders:
    """A component whose operations tests give, and which remembers its calls."""

    def __init__(self) -> None:
        self.calls: list[ComponentCall] = []
        self.failures: list[NodeFailed] = []
        self.answers: dict[str, Callable[[Any], Awaitable[Any]]] = {}

    async def __call__(self, call: ComponentCall) -> Any:
        """Answer a call."""
        self.calls.append(call)
        if self.failures:
            raise self.failures.pop(0)
        if call.operation in self.answers:
            return await self.answers[call.operation](call.input)
        return {"id": call.input.get("id"), "status": "sent"}

    @property
    def operations(self) -> list[str]:
        """The operations that were called."""
        return [call.operation for call in self.calls]


@pytest.fixture
def orders() -> Orders:
    """A component."""
    return Orders()


def made(orders: Orders | None, *texts: str, **options: Any) -> Flows:
    """Read flows, and make them ready to run."""
    files = {f"{number}.yaml": text for number, text in enumerate(texts)}
    flows, problems = lint_files(files)
    assert [str(one) for one in problems if one.severity == "error"] == []
    return Flows(flows, options.pop("runners", Runners(call=orders)), **options)


@pytest.fixture(params=["kept", "replayed", "continued"])
def talking(request: pytest.FixtureRequest, single_server: TestServer, orders: Orders) -> Talking:
    """Talk with a flow whose coroutine is kept, runs from its journal, or starts again at waits."""

    @contextlib.asynccontextmanager
    async def talk(*texts: str, **options: Any) -> AsyncIterator[Talk]:
        app = App()
        if request.param == "continued":
            options["steps_kept"] = 0
        flows = made(orders, *texts, **options)
        kind = declare_flow(app, flows, next(iter(flows.flows)))
        kept = 1_000 if request.param == "kept" else 0
        async with conversation(app, kind, server=single_server, kept=kept, user="ann") as talked:
            yield talked

    return talk
