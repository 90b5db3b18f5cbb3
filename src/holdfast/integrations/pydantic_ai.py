"""Agents of Pydantic AI that survive crashes: every request and every tool call is a step.

`HoldfastAgent(agent).run(ctx, prompt)` runs an agent inside a task or a conversation. Calls that an
earlier attempt made are not made again; their results come from the journal.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Unpack

from pydantic import TypeAdapter
from pydantic_ai import AgentRunResult, exceptions
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturn,
    ToolReturnContent,
    UserContent,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import OutputDataT
from pydantic_ai.tools import (
    AgentDepsT,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from typing_extensions import override

from holdfast.errors import InvalidInput
from holdfast.integrations import agent_steps
from holdfast.worker.app import App
from holdfast.worker.context import Context
from holdfast.worker.handle import Handle
from holdfast.worker.task import TaskFields
from holdfast.worker.waiting import TaskWaitpoint

Prompt = str | Sequence[UserContent] | None

_NO_APP: Final = "app: give HoldfastAgent the app whose worker runs the agent"

_value: Final = TypeAdapter[Any](ToolReturnContent)
_tool_return: Final = TypeAdapter[Any](ToolReturn)

#: What a tool may raise to say something: to the model, or to those who run the agent.
_SAYS: Final = {
    "ModelRetry": "ModelRetry",
    "ToolRetryError": "ModelRetry",
    "ToolFailed": "ToolFailed",
    "ToolFailedError": "ToolFailed",
    "CallDeferred": "CallDeferred",
    "ApprovalRequired": "ApprovalRequired",
}
#: The classes, as far as this version of the library has them.
_SAYING: Final = {
    getattr(exceptions, name): kind for name, kind in _SAYS.items() if hasattr(exceptions, name)
}


class HoldfastAgent(Generic[AgentDepsT, OutputDataT]):
    """An agent whose runs continue after a crash.

    With an app it is also a task of that app, for code outside of tasks: `await agent.ask(prompt)`.
    """

    def __init__(
        self,
        agent: AbstractAgent[AgentDepsT, OutputDataT],
        app: App | None = None,
        *,
        name: str | None = None,
        stream: bool = True,
        budget: str | None = None,
        inline: Collection[str] = (),
    ) -> None:
        """Wrap an agent.

        Args:
            agent: the agent.
            app: declares a task with the name of the agent.
            name: begins the names of steps; by default, the agent's name.
            stream: whether the words of the model go to the stream of the execution.
            budget: the budget that is charged, if the execution has several.
            inline: names of tools that use the context themselves, and are no steps.
        """
        self.agent = agent
        self.name: str = name or agent.name or "agent"
        self._options = _Options(stream=stream, budget=budget, inline=frozenset(inline))
        self._app = app
        self._task = None if app is None else app.task(name=self.name)(self._answer)

    async def _answer(self, ctx: Context, prompt: str) -> Any:
        return (await self.run(ctx, prompt)).output

    async def submit(self, prompt: str, **options: Unpack[TaskFields]) -> Handle[Any]:
        """Submit a run as an execution of its own; its result is the output."""
        if self._task is None:
            raise InvalidInput(_NO_APP)
        return await self._task.options(**options).submit(prompt)

    async def ask(self, prompt: str, **options: Unpack[TaskFields]) -> Any:
        """Run as an execution of its own, and return the output."""
        return await (await self.submit(prompt, **options)).result()

    @contextlib.asynccontextmanager
    async def lifespan(self, _api: object = None) -> AsyncIterator[None]:
        """Run a worker of the app in this process: `FastAPI(lifespan=agent.lifespan)`."""
        if self._app is None:
            raise InvalidInput(_NO_APP)
        async with self._app.worker():
            yield

    async def run(
        self,
        ctx: Context,
        prompt: Prompt = None,
        *,
        message_history: Sequence[ModelMessage] | None = None,
        **options: Any,
    ) -> AgentRunResult[OutputDataT]:
        """Run the agent inside a task or conversation; takes the options of `Agent.run`.

        A tool that needs approval waits for the waitpoint `approve:CALL_ID`, whose answer is
        `approve` or `deny`. A tool that something else runs waits for `result:CALL_ID`.
        """
        run = _Run(ctx, ctx.number(self.name), self._options)
        capabilities = [*(options.pop("capabilities", None) or ()), _Recording[AgentDepsT](run)]
        return await self.agent.run(
            prompt, message_history=message_history, capabilities=capabilities, **options
        )


@dataclass(frozen=True, kw_only=True)
class _Options:
    stream: bool
    budget: str | None
    inline: frozenset[str]


class _Run:
    """The steps of one run."""

    def __init__(self, ctx: Context, name: str, options: _Options) -> None:
        self._ctx = ctx
        self._name = name
        self.options = options
        self._requests = 0
        #: The ids of the calls that the model asked for last.
        self._calls: list[str] = []
        #: How often people answered since.
        self._answered = 0

    async def request(self, send: Callable[[], Awaitable[ModelResponse]]) -> ModelResponse:
        """Send a request to the model once, and charge its usage once."""
        self._requests += 1
        self._answered = 0
        step = f"{self._name}:model:{self._requests}"

        async def sent() -> Any:
            return ModelMessagesTypeAdapter.dump_python([await send()], mode="json")

        (response,) = _loaded(ModelMessagesTypeAdapter, await self._ctx.step(step, sent))
        assert isinstance(response, ModelResponse)  # noqa: S101 - what was recorded
        parts = response.parts
        self._calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
        await agent_steps.charge(
            self._ctx,
            step,
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            budget=self.options.budget,
        )
        return response

    async def stream(self, text: str) -> None:
        """Stream words of the model."""
        if text:
            await self._ctx.stream.text(text)

    async def call(self, call: ToolCallPart, execute: Callable[[], Awaitable[Any]]) -> Any:
        """Call a tool once, whether it returns or says why it does not."""
        step = self._step(call)

        async def called() -> Any:
            try:
                value = await execute()
            except tuple(_SAYING) as error:
                return _said(error)
            if isinstance(value, ToolReturn):
                return {"tool_return": _jsonable(_tool_return, value)}
            return {"value": _jsonable(_value, value)}

        outcome = await self._ctx.step(step, called)
        if "raised" in outcome:
            raise getattr(exceptions, outcome["raised"])(outcome["said"])
        if "tool_return" in outcome:
            return _loaded(_tool_return, outcome["tool_return"])
        return _loaded(_value, outcome["value"])

    def _step(self, call: ToolCallPart) -> str:
        """Name a call by its place in the response; an approved one is made a second time."""
        ids, id = self._calls, call.tool_call_id
        place = str(ids.index(id) + 1) if id in ids else id
        again = f":{self._answered + 1}" if self._answered else ""
        return f"{self._name}:tool:{self._requests}.{place}:{call.tool_name}{again}"

    async def answers(self, asked: DeferredToolRequests) -> DeferredToolResults:
        """Wait for people and systems; all waitpoints are open before the first wait."""
        self._answered += 1
        approvals = [(call, f"approve:{call.tool_call_id}") for call in asked.approvals]
        calls = [(call, f"result:{call.tool_call_id}") for call in asked.calls]
        points = {
            name: await self._ctx.waitpoint(name, title=self._title(call))
            for call, name in [*approvals, *calls]
        }
        results = DeferredToolResults()
        for call, name in calls:
            results.calls[call.tool_call_id] = await self._ctx.wait_for(points[name])
        for call, name in approvals:
            results.approvals[call.tool_call_id] = await self._approval(points[name])
        return results

    def _title(self, call: ToolCallPart) -> str:
        return agent_steps.title(self._ctx, call.tool_name, json.dumps(call.args_as_dict()))

    async def _approval(self, waitpoint: TaskWaitpoint[Any]) -> ToolApproved | ToolDenied:
        said = await agent_steps.verdict(self._ctx, waitpoint)
        if not said.approved:
            return ToolDenied(said.reason) if said.reason else ToolDenied()
        changed = said.payload.get("override_args") if isinstance(said.payload, dict) else None
        return ToolApproved(override_args=changed)


@dataclass
class _Recording(AbstractCapability[AgentDepsT]):
    """Makes the calls of an agent steps of a run."""

    run: _Run

    @override
    async def wrap_model_request(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        request_context: ModelRequestContext,
        handler: Callable[[ModelRequestContext], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        async def send() -> ModelResponse:
            if not self.run.options.stream:
                return await handler(request_context)
            return await self._streamed(ctx, request_context)

        return await self.run.request(send)

    async def _streamed(
        self, ctx: RunContext[AgentDepsT], request: ModelRequestContext
    ) -> ModelResponse:
        """Send a request and stream the words of the response as they come."""
        settings, parameters = request.model_settings, request.model_request_parameters
        async with request.model.request_stream(
            request.messages, settings, parameters, ctx
        ) as streamed:
            async for event in streamed:
                match event:
                    case PartStartEvent(part=TextPart(content=text)):
                        await self.run.stream(text)
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        await self.run.stream(text)
        return streamed.get()

    @override
    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        if call.tool_name in self.run.options.inline:
            return await handler(args)
        return await self.run.call(call, lambda: handler(args))

    @override
    async def handle_deferred_tool_calls(
        self, ctx: RunContext[AgentDepsT], *, requests: DeferredToolRequests
    ) -> DeferredToolResults:
        return await self.run.answers(requests)


def _said(error: Exception) -> dict[str, Any]:
    """Return what a tool said by an error, as it is recorded."""
    cause = error.__cause__
    original = cause if cause is not None and isinstance(cause, tuple(_SAYING)) else error
    kind = next(kind for known, kind in _SAYING.items() if isinstance(original, known))
    if isinstance(original, exceptions.CallDeferred | exceptions.ApprovalRequired):
        return {"raised": kind, "said": original.metadata}
    return {"raised": kind, "said": getattr(original, "message", str(original))}


def _jsonable(adapter: TypeAdapter[Any], value: Any) -> Any:
    return adapter.dump_python(value, mode="json")


def _loaded(adapter: TypeAdapter[Any], value: Any) -> Any:
    # Only from JSON are bytes decoded.
    return adapter.validate_json(json.dumps(value))
