"""Runs `llm` nodes: rounds of asking a model and calling the tools that it asks for."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from holdfast.errors import BudgetExceeded, BudgetNotFound, InvalidPack
from holdfast.host.flows.runners import Answer, ModelCall, NodeFailed
from holdfast.host.grants import Grant
from holdfast.host.models.answers import Completion, Usage
from holdfast.host.models.endpoint import Endpoint
from holdfast.host.models.tools import Run, Tools, within
from holdfast.host.packs.packs import Bundle
from holdfast.host.vault import Vault
from holdfast.host.web.client import Web

#: Characters of a prompt that are at most a token, to reserve before the model counts.
_CHARS_PER_TOKEN = 3
_SCHEMAS = "schemas/"


class ModelNodes:
    """Asks the models of packs, each with the key of the tenant for whom the flow runs."""

    def __init__(self, bundle: Bundle, web: Web, vault: Vault, run_tool: Run | None = None) -> None:
        self._vault = vault
        self._run_tool = run_tool
        self._models = {
            name: (model, Grant.of(pack.definition), Endpoint(web, model))
            for name, (pack, model) in bundle.models.items()
        }
        self._schemas = _tool_schemas(bundle)

    async def check(self, tenant: str, env: str) -> None:
        """Refuse to run packs whose models have no key; raises InvalidPack."""
        for model, grant, _ in self._models.values():
            if not await self._vault.has(model.key_secret, grant, tenant=tenant, env=env):
                message = (
                    f"the model `{model.name}` needs the secret {model.key_secret}, which the "
                    f"tenant {tenant} does not have in {env}: set it with `holdfast secrets set`"
                )
                raise InvalidPack(message, problem="secret_missing", name=model.key_secret)

    async def __call__(self, call: ModelCall) -> dict[str, Any] | Answer:
        """Return the text, the usage and the calls of tools; raises NodeFailed.

        If tools replied, it is an Answer with their replies.
        """
        if call.model not in self._models:
            raise NodeFailed("model_not_found", f"the packs declare no model `{call.model}`")
        model, grant, endpoint = self._models[call.model]
        key = await self._vault.reveal(model.key_secret, grant, call.about)
        tools = Tools(call.tools, self._schemas, self._run_tool)
        output = await _Rounds(call, endpoint, key, tools).run()
        return Answer(output, tools.replies) if tools.replies else output


class _Rounds:
    """One run of a node."""

    def __init__(self, call: ModelCall, endpoint: Endpoint, key: str, tools: Tools) -> None:
        self._call = call
        self._endpoint = endpoint
        self._key = key
        self._tools = tools
        self._ends = time.monotonic() + call.about.timeout_ms / 1000
        system = [] if call.system is None else [{"role": "system", "content": call.system}]
        self._messages: list[Any] = [*system, *call.messages]
        self._used = Usage()
        self._texts: list[str] = []
        self._made: list[dict[str, Any]] = []

    async def run(self) -> dict[str, Any]:
        for number in range(self._call.rounds + 1):
            answer = await self._ask()
            if answer.text:
                self._texts.append(answer.text)
            if not answer.calls:
                return self._output()
            if number == self._call.rounds:
                break
            await self._call_tools(number, answer)
        message = f"the model wants to call tools more than {self._call.rounds} times"
        raise NodeFailed("too_many_rounds", message)

    async def _ask(self) -> Completion:
        body: dict[str, Any] = {"messages": self._messages, "max_tokens": self._call.max_tokens}
        if tools := self._tools.described():
            body["tools"] = tools
        answer = Completion()
        is_first = True

        async def show(new: str) -> None:
            nonlocal is_first
            await self._call.show("\n\n" + new if is_first and self._texts else new)
            is_first = False

        async with self._paid(body, answer):
            await self._endpoint.ask(body, self._key, self._left_ms(), answer, show)
        return answer

    @contextlib.asynccontextmanager
    async def _paid(self, body: dict[str, Any], answer: Completion) -> AsyncIterator[None]:
        """Reserve the most that a call can use, and settle by what the model reports.

        A model that reports nothing is charged what was reserved if it answered, and by what it
        wrote if it broke off.
        """
        prompt = len(msgspec.json.encode(body)) // _CHARS_PER_TOKEN + 1
        most = prompt + self._call.max_tokens
        try:
            async with self._call.reserve(
                {"tokens": most, "calls": 1}, self._call.budget, self._call.about.timeout_ms
            ) as reserved:
                try:
                    yield
                except (NodeFailed, asyncio.CancelledError):
                    if answer.text or answer.calls or answer.usage:
                        written = len(answer.text) // _CHARS_PER_TOKEN + 1
                        spent = answer.usage.total if answer.usage else prompt + written
                        reserved.settle(tokens=spent, calls=1)
                    raise
                if answer.usage:
                    reserved.settle(tokens=answer.usage.total, calls=1)
                self._count(answer.usage or Usage(total_tokens=most))
        except BudgetExceeded as error:
            details = {name: error.context.get(name) for name in ("budget", "dimension", "limit")}
            raise NodeFailed("budget_exceeded", error.message, details=details) from None
        except BudgetNotFound as error:
            raise NodeFailed("budget_not_found", error.message) from None

    def _count(self, usage: Usage) -> None:
        self._used = Usage(
            self._used.prompt_tokens + usage.prompt_tokens,
            self._used.completion_tokens + usage.completion_tokens,
            self._used.total + usage.total,
        )

    async def _call_tools(self, number: int, answer: Completion) -> None:
        asked = [
            {
                "id": call.id or f"call_{number}_{place}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for place, call in enumerate(answer.calls)
        ]
        said = {"role": "assistant", "content": answer.text or None, "tool_calls": asked}
        self._messages.append(said)
        for place, call in enumerate(answer.calls):
            about = within(self._call.about, number, place, self._left_ms())
            made = await self._tools.call(call, about)
            self._made.append(made)
            content = {"error": made["error"]} if "error" in made else made["output"]
            self._messages.append(
                {
                    "role": "tool",
                    "tool_call_id": asked[place]["id"],
                    "content": msgspec.json.encode(content).decode(),
                }
            )

    def _left_ms(self) -> int:
        return max(1, int((self._ends - time.monotonic()) * 1000))

    def _output(self) -> dict[str, Any]:
        usage = {
            "prompt_tokens": self._used.prompt_tokens,
            "completion_tokens": self._used.completion_tokens,
            "total_tokens": self._used.total,
        }
        return {"text": "\n\n".join(self._texts), "usage": usage, "calls": self._made}


def _tool_schemas(bundle: Bundle) -> Mapping[str, Any]:
    """Return the schemas of operations: `schemas/COMPONENT.OPERATION.json` of their pack."""
    schemas: dict[str, Any] = {}
    for name, (pack, component) in bundle.components.items():
        for operation in component.operations:
            path = f"{_SCHEMAS}{name}.{operation}.json"
            if path not in pack.files:
                continue
            try:
                schema = msgspec.json.decode(pack.files[path])
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                schema = None
            if not isinstance(schema, dict):
                message = f"{path} is not a JSON Schema"
                raise InvalidPack(message, problem="invalid_field", file=path)
            schemas[f"{name}.{operation}"] = schema
    return schemas
