"""Agents of the OpenAI Agents SDK that survive crashes: every call is a step.

`HoldfastRunner.run(ctx, agent, input)` runs an agent, and those that it hands over to, inside a
task or a conversation. Calls of models, tools, MCP servers and guardrails that an earlier attempt
made are not made again; their results come from the journal.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from agents import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    Handoff,
    InputGuardrail,
    Model,
    OutputGuardrail,
    RunConfig,
    Runner,
    RunResult,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
)
from agents.items import ToolApprovalItem
from agents.mcp import MCPServer
from agents.tool import ApplyPatchTool, ComputerTool, LocalShellTool, ShellTool
from pydantic import TypeAdapter

from holdfast.errors import InvalidInput
from holdfast.integrations.agent_steps import Verdict, title, verdict
from holdfast.integrations.openai_models import RecordedModel, RecordedProvider, Requests
from holdfast.worker.context import Context

_Content = ToolOutputText | ToolOutputImage | ToolOutputFileContent

_anything: Final = TypeAdapter[Any](Any)
#: Results of tools that are more than text.
_contents: Final = TypeAdapter[Any](_Content | list[_Content])
#: Tools that act in this process without a function that could be a step.
_UNRECORDED: Final = (ApplyPatchTool, ComputerTool, LocalShellTool, ShellTool)
#: Where a copy keeps the agent that it was made from.
_ORIGINAL: Final = "_holdfast_original"


class HoldfastRunner:
    """Runs agents inside tasks and conversations."""

    @classmethod
    async def run(
        cls,
        ctx: Context,
        agent: Agent[Any],
        input: Any,
        *,
        name: str | None = None,
        stream: bool = True,
        budget: str | None = None,
        run_config: RunConfig | None = None,
        **options: Any,
    ) -> RunResult:
        """Run an agent to its end; takes the options of `Runner.run`, except `session`.

        A tool that needs approval waits for the waitpoint `approve:CALL_ID`, whose answer is
        `approve` or `deny`.

        Args:
            ctx: the context of the task or conversation.
            agent: the agent to start with.
            input: the message, or the items of a conversation.
            name: begins the names of steps; by default, the agent's name.
            stream: whether the words of the model go to the stream of the execution.
            budget: the budget that is charged, if the execution has several.
            run_config: as in `Runner.run`.
            options: further options of `Runner.run`.
        """
        if options.get("session") is not None:
            message = "session: a repeated run would write to it again; keep `to_input_list()`"
            raise InvalidInput(message)
        agent = getattr(agent, _ORIGINAL, agent)
        run = _Run(ctx, ctx.number(name or agent.name), stream=stream, budget=budget)
        config = run.config(run_config or RunConfig())
        recorded = run.agent(agent)
        result = await Runner.run(recorded, input, run_config=config, **options)
        while result.interruptions:
            state = result.to_state()
            for item, answer in await run.answers(result.interruptions):
                if answer.approved:
                    state.approve(item)
                else:
                    state.reject(item, rejection_message=answer.reason or None)
            result = await Runner.run(recorded, state, run_config=config, **options)
        return result


class _Run:
    """The steps of one run, and copies of agents that make them."""

    def __init__(self, ctx: Context, name: str, *, stream: bool, budget: str | None) -> None:
        self.ctx = ctx
        self.name = name
        self.requests = Requests(ctx, name, stream=stream, budget=budget)
        self._agents: dict[int, Agent[Any]] = {}
        self._counts: dict[str, int] = {}

    def number(self, kind: str) -> str:
        """Return the next name of a step of a kind."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{self.name}:{kind}:{self._counts[kind]}"

    def config(self, config: RunConfig) -> RunConfig:
        """Return a configuration whose models are recorded."""
        model = config.model
        return replace(
            config,
            model=RecordedModel(self.requests, model) if isinstance(model, Model) else model,
            model_provider=RecordedProvider(self.requests, config.model_provider),
            input_guardrails=self._guarded(config.input_guardrails),
            output_guardrails=self._guarded(config.output_guardrails),
        )

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        """Return a copy of an agent whose calls are recorded, the same for the whole run."""
        agent = getattr(agent, _ORIGINAL, agent)
        found = self._agents.get(id(agent))
        if found is None:
            model = agent.model
            found = self._agents[id(agent)] = agent.clone(
                model=RecordedModel(self.requests, model) if isinstance(model, Model) else model,
                model_settings=agent.model_settings,
                tools=[self._tool(tool) for tool in agent.tools],
                mcp_servers=[self._server(server) for server in agent.mcp_servers],
                input_guardrails=self._guarded(agent.input_guardrails),
                output_guardrails=self._guarded(agent.output_guardrails),
                handoffs=[],
            )
            object.__setattr__(found, _ORIGINAL, agent)
            # Agents may hand over to each other in circles.
            found.handoffs = [self._handoff(handoff) for handoff in agent.handoffs]
        return found

    def _handoff(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Any:
        if isinstance(handoff, Agent):
            return self.agent(handoff)
        invoke = handoff.on_invoke_handoff

        async def invoked(context: Any, arguments: str) -> Agent[Any]:
            return self.agent(await invoke(context, arguments))

        return replace(handoff, on_invoke_handoff=invoked)

    def _tool(self, tool: Any) -> Any:
        if isinstance(tool, _UNRECORDED):
            message = f"tool {tool.name} acts in this process and cannot be a step; use a function"
            raise InvalidInput(message)
        if not isinstance(tool, FunctionTool):
            return tool  # The provider of the model runs it.
        invoke = tool.on_invoke_tool

        async def invoked(context: Any, arguments: str) -> Any:
            async def called() -> Any:
                return _jsonable(await invoke(context, arguments))

            step = self.number(f"tool:{tool.name}:{context.tool_call_id}")
            return _tool_output(await self.ctx.step(step, called))

        recorded = copy.copy(tool)
        recorded.on_invoke_tool = invoked
        return recorded

    def _server(self, server: MCPServer) -> MCPServer:
        call_tool = server.call_tool

        async def recorded_call(tool_name: str, *args: Any, **kwargs: Any) -> Any:
            kind: type[Any] = inspect.signature(call_tool, eval_str=True).return_annotation

            async def called() -> Any:
                return _jsonable(await call_tool(tool_name, *args, **kwargs))

            outcome = await self.ctx.step(self.number(f"mcp:{server.name}:{tool_name}"), called)
            return kind.model_validate(outcome)

        recorded = copy.copy(server)
        recorded.call_tool = recorded_call  # type: ignore[method-assign]
        return recorded

    def _guarded(self, guardrails: Sequence[Any] | None) -> list[Any]:
        return [self._guardrail(guardrail) for guardrail in guardrails or ()]

    def _guardrail(self, guardrail: InputGuardrail[Any] | OutputGuardrail[Any]) -> Any:
        judge: Callable[..., Any] = guardrail.guardrail_function

        async def judged(*args: Any) -> GuardrailFunctionOutput:
            async def called() -> Any:
                verdict = judge(*args)
                verdict = await verdict if inspect.isawaitable(verdict) else verdict
                return [_jsonable(verdict.output_info), verdict.tripwire_triggered]

            step = self.number(f"guardrail:{guardrail.get_name()}")
            info, tripped = await self.ctx.step(step, called)
            return GuardrailFunctionOutput(output_info=info, tripwire_triggered=tripped)

        recorded = replace(guardrail, guardrail_function=judged, name=guardrail.get_name())
        if isinstance(recorded, InputGuardrail):
            # Beside the model, it would be a matter of time which calls are recorded.
            recorded.run_in_parallel = False
        return recorded

    def _title(self, item: ToolApprovalItem) -> str:
        return title(self.ctx, item.name or "tool", item.arguments or "")

    async def answers(
        self, asked: Sequence[ToolApprovalItem]
    ) -> list[tuple[ToolApprovalItem, Verdict]]:
        """Wait for people; all waitpoints are open before the first wait."""
        points = [
            (item, await self.ctx.waitpoint(f"approve:{item.call_id}", title=self._title(item)))
            for item in asked
        ]
        return [(item, await verdict(self.ctx, point)) for item, point in points]


def _jsonable(value: Any) -> Any:
    return _anything.dump_python(value, mode="json")


def _tool_output(value: Any) -> Any:
    """Return what a tool returned, with its images and files."""
    items = value if isinstance(value, list) else [value]
    is_content = bool(items) and all(
        isinstance(item, dict) and item.get("type") in ("text", "image", "file") for item in items
    )
    return _contents.validate_python(value) if is_content else value
