"""A small model that follows rules, behind the protocol of OpenAI's chat completions.

python model_server.py [PORT]

It looks up orders and opening hours with the tools that it is given, and streams its answers word
by word. The same question gets the same answer, so that tests can expect one.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from aiohttp import web

PORT = 8099
_ORDER = re.compile(r"\b([A-Z]\d+)\b")
_DAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b")


def decide(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the model says next: a text, or a tool to call."""
    last = messages[-1]
    if last["role"] == "tool":
        return {"content": _told(json.loads(last["content"]))}
    question = str(last["content"])
    if order := _ORDER.search(question.upper()):
        return _tool("shop_find_order", {"id": order[1]})
    if day := _DAY.search(question.lower()):
        return _tool("shop_opening_hours", {"day": day[0]})
    asked = sum(message["role"] == "user" for message in messages)
    return {"content": f"That was question {asked}. Ask me about an order or our hours."}


def _told(found: dict[str, Any]) -> str:
    if "error" in found:
        return "I do not find that."
    if "status" in found:
        return f"Order {found['id']} is {found['status']}."
    return f"On {found['day']} we are open {found['hours']}.".replace("open closed", "closed")


def _tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"index": 0, "id": "call_1", "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)}}  # fmt: skip
    return {"tool_calls": [call]}


async def complete(request: web.Request) -> web.StreamResponse:
    """Stream an answer, then what it used."""
    if not request.headers.get("Authorization", "").startswith("Bearer "):
        return web.json_response({"error": {"code": "no_key"}}, status=401)
    body = await request.json()
    said = decide(body["messages"])
    words = re.findall(r"\S+\s*", said.get("content", ""))
    deltas = [{"content": word} for word in words] or [said]
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    parts: list[dict[str, Any]] = [{"choices": [{"delta": delta}]} for delta in deltas]
    parts.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    prompt = len(json.dumps(body["messages"])) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": len(deltas),
             "total_tokens": prompt + len(deltas)}  # fmt: skip
    parts.append({"choices": [], "usage": usage})
    for part in parts:
        await response.write(f"data: {json.dumps(part)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


def application() -> web.Application:
    """Return the server."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    return app


if __name__ == "__main__":
    web.run_app(application(), host="127.0.0.1", port=int(sys.argv[1]) if sys.argv[1:] else PORT)
