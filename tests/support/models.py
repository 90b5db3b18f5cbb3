"""A model server on loopback that answers as a test says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from aiohttp import web

from holdfast.errors import SecretNotFound
from holdfast.host.packs import Bundle, bundle
from tests.support.packs import pack_of
from tests.support.web import serving

KEY = "sk-test-5ecret"
PACK = """\
id: helper
version: 1.0.0
entry: main
components:
  orders: {{kind: wasm, source: components/orders.wasm, operations: [find, cancel]}}
secrets: [MODEL_KEY]
models:
  small: {{base_url: "http://127.0.0.1:{port}/v1", model: tiny, key_secret: MODEL_KEY}}
"""


class Keeper:
    """Knows the key of the model, for every tenant but `poor`."""

    async def reveal(self, name: str, *, tenant: str, env: str) -> str:
        """Return it."""
        del env
        if tenant == "poor":
            raise SecretNotFound(f"no secret is called {name}")
        return KEY


def bundle_of(port: int, flow: str, **files: str) -> Bundle:
    """Return a pack with a model at a port and one flow."""
    contents = {
        "pack.yaml": PACK.format(port=port).encode(),
        "flows/main.yaml": flow.encode(),
        "components/orders.wasm": b"\0asm",
        **{name: text.encode() for name, text in files.items()},
    }
    return bundle(pack_of(contents))


def text(*words: str, usage: int | None = 10) -> list[Any]:
    """Return an answer of some words, with what it used."""
    parts: list[Any] = [{"choices": [{"delta": {"content": word}}]} for word in words]
    parts.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    if usage is not None:
        tokens = {"prompt_tokens": usage - 1, "completion_tokens": 1, "total_tokens": usage}
        parts.append({"choices": [], "usage": tokens})
    return [*parts, "[DONE]"]


def tools(*calls: tuple[str, str], usage: int = 5) -> list[Any]:
    """Return an answer that calls tools, its arguments in two parts each."""
    parts: list[Any] = []
    for number, (name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        for function in (
            {"name": name, "arguments": arguments[:half]},
            {"arguments": arguments[half:]},
        ):
            call = {"index": number, "id": f"c{number}", "function": function}
            parts.append({"choices": [{"delta": {"tool_calls": [call]}}]})
    parts.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    parts.append({"choices": [], "usage": {"total_tokens": usage}})
    return [*parts, "[DONE]"]


class Models:
    """Answers each request with the next of its answers, the last one again and again.

    An answer is a list of events, bytes that are sent as they are, a status with headers and a
    body, or an event to wait for in between.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.port = 0
        #: Set when a client went away before the answer was complete.
        self.gone = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        self.requests.append(await request.json())
        self.keys.append(request.headers["Authorization"])
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, tuple):
            status, headers, body = answer
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            return web.Response(status=status, headers=headers, body=data)
        if isinstance(answer, Mapping):
            return web.json_response(answer)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for part in [answer] if isinstance(answer, bytes) else answer:
                await self._send(response, part)
        except (ConnectionError, asyncio.CancelledError):
            self.gone.set()
            raise
        return response

    async def _send(self, response: web.StreamResponse, part: Any) -> None:
        if isinstance(part, asyncio.Event):
            await part.wait()
        elif isinstance(part, bytes):
            await response.write(part)
        else:
            data = part if isinstance(part, str) else json.dumps(part)
            await response.write(f"data: {data}\n\n".encode())

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve while the block runs."""
        async with serving({"/v1/chat/completions": self.handle}) as self.port:
            yield
