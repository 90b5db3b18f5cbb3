"""A model server for tests: it speaks the protocol of OpenAI-compatible servers, by rules.

python examples/fake_model.py [PORT]
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

CITIES = ("Oslo", "Rome", "Lima")


def decide(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Answer as a model would: with a tool call, or with text."""
    last = messages[-1]
    if last["role"] == "tool":
        return {"content": f"I looked it up: {last['content']}."}
    for city in CITIES:
        if city.lower() in last["content"].lower():
            call = {"name": "weather", "arguments": json.dumps({"city": city})}
            return {"tool_calls": [{"index": 0, "id": f"call-{len(messages)}", "function": call}]}
    said = sum(message["role"] == "user" for message in messages)
    return {"content": f"You have written {said} times. Ask me about the weather in Oslo."}


async def complete(request: web.Request) -> web.StreamResponse:
    """Stream an answer word by word, then how many tokens it took."""
    body = await request.json()
    answer = decide(body["messages"])
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    words = [{"content": f"{word} "} for word in answer.get("content", "").split()]
    if words:
        words[-1]["content"] = words[-1]["content"].rstrip()
    for delta in words or [answer]:
        await _event(response, {"choices": [{"delta": delta}]})
    used = len(json.dumps(body["messages"])) // 4 + len(words)
    await _event(response, {"choices": [], "usage": {"total_tokens": used}})
    await response.write(b"data: [DONE]\n\n")
    return response


async def _event(response: web.StreamResponse, data: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(data).encode() + b"\n\n")


@asynccontextmanager
async def serving(port: int = 0) -> AsyncIterator[str]:
    """Serve on a port of this machine, by default a free one; yields the base URL."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    host, bound = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{bound}/v1"
    finally:
        await runner.cleanup()


async def main() -> None:
    """Serve until interrupted."""
    async with serving(int(sys.argv[1]) if len(sys.argv) > 1 else 8001) as url:
        print(f"OPENAI_BASE_URL={url}")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
