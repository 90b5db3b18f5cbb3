"""Models of the OpenAI Agents SDK whose requests are steps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from agents import Model, ModelProvider, ModelResponse, Usage
from agents.models.interface import ModelTracing
from pydantic import TypeAdapter
from typing_extensions import override

from holdfast.errors import InvalidInput
from holdfast.integrations import agent_steps
from holdfast.worker.context import Context

_response: Final = TypeAdapter(ModelResponse)


class Requests:
    """The requests of one run, in order."""

    def __init__(self, ctx: Context, name: str, *, stream: bool, budget: str | None) -> None:
        self.ctx = ctx
        self.stream = stream
        self._name = name
        self._budget = budget
        self._count = 0

    async def send(self, send: Callable[[], Awaitable[ModelResponse]]) -> ModelResponse:
        """Send a request to a model once, and charge its usage once."""
        self._count += 1
        step = f"{self._name}:model:{self._count}"

        async def sent() -> Any:
            return _response.dump_python(await send(), mode="json", exclude_unset=True)

        response = _response.validate_python(await self.ctx.step(step, sent))
        await agent_steps.charge(
            self.ctx,
            step,
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            budget=self._budget,
        )
        return response


class RecordedProvider(ModelProvider):
    """Finds models by name, and records them."""

    def __init__(self, requests: Requests, provider: ModelProvider) -> None:
        self._requests = requests
        self._provider = provider

    @override
    def get_model(self, model_name: str | None) -> Model:
        return RecordedModel(self._requests, self._provider.get_model(model_name))

    @override
    async def aclose(self) -> None:
        await self._provider.aclose()


class RecordedModel(Model):
    """A model whose requests are steps."""

    def __init__(self, requests: Requests, model: Model) -> None:
        self._requests = requests
        self._model = model

    @override
    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: Any,
        tools: Any,
        output_schema: Any,
        handoffs: Any,
        tracing: ModelTracing,
        **options: Any,
    ) -> ModelResponse:
        request = (system_instructions, input, model_settings, tools, output_schema, handoffs)

        async def send() -> ModelResponse:
            if self._requests.stream:
                return await self._streamed(
                    self._model.stream_response(*request, tracing, **options)
                )
            return await self._model.get_response(*request, tracing, **options)

        return await self._requests.send(send)

    async def _streamed(self, events: AsyncIterator[Any]) -> ModelResponse:
        """Stream the words of the response as they come."""
        response: Any = None
        async for event in events:
            if event.type == "response.output_text.delta":
                await self._requests.ctx.stream.text(event.delta)
            elif event.type in ("response.completed", "response.incomplete"):
                response = event.response
        if response is None:
            raise RuntimeError("the stream of the model ended without a response")
        return ModelResponse(
            output=response.output, usage=_usage(response.usage), response_id=response.id
        )

    @override
    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        raise InvalidInput("run agents with HoldfastRunner.run; it streams to the execution")


def _usage(used: Any) -> Usage:
    if used is None:
        return Usage(requests=1)
    return Usage(
        requests=1,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
        input_tokens_details=used.input_tokens_details,
        output_tokens_details=used.output_tokens_details,
    )
