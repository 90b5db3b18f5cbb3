"""An assistant on a language model: tools are steps, tokens come from a budget, words stream.

python examples/llm_assistant.py

It talks to any OpenAI-compatible server: set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL.
Without them it starts the small fake model next to it.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import fake_model
from pydantic import BaseModel

from holdfast import App, Chat, WorkerSettings
from holdfast.errors import BudgetExceeded

app = App()
tokens = app.budget("assistant", tokens=200_000, reset=86_400)

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Return the weather in a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
#: What the model remembers; older lines are in the transcript only.
REMEMBERED = 20
MOST_CALLS = 5


class Call(BaseModel):
    """A tool that the model wants to use."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class Completion(BaseModel):
    """What the model said, or the tools it wants to use."""

    text: str = ""
    calls: list[Call] = []
    tokens: int = 0


class Memory(BaseModel):
    """What the conversation continues with."""

    messages: list[dict[str, Any]] = []


def weather(city: str) -> str:
    """Look the weather up; a real one asks a service."""
    return f"{city} has {len(city) * 4} degrees"


def use_tool(call: Call) -> str:
    """Run a tool."""
    return weather(**json.loads(call.arguments))


async def complete(
    messages: list[dict[str, Any]], write: Callable[[str], Awaitable[None]]
) -> Completion:
    """Ask the model, and pass its words on as they come."""
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    body = {
        "model": os.environ.get("OPENAI_MODEL", "fake"),
        "messages": messages,
        "tools": TOOLS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    headers = {"authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    found = Completion()
    async with (
        aiohttp.ClientSession(raise_for_status=True) as http,
        http.post(url, json=body, headers=headers) as response,
    ):
        async for line in response.content:
            data = line.decode().strip().removeprefix("data: ")
            if not data or data == "[DONE]":
                continue
            chunk = json.loads(data)
            found.tokens += (chunk.get("usage") or {}).get("total_tokens", 0)
            for choice in chunk["choices"]:
                await _take(found, choice["delta"], write)
    return found


async def _take(
    found: Completion, delta: dict[str, Any], write: Callable[[str], Awaitable[None]]
) -> None:
    if delta.get("content"):
        found.text += delta["content"]
        await write(delta["content"])
    for part in delta.get("tool_calls") or ():
        while len(found.calls) <= part["index"]:
            found.calls.append(Call())
        call, function = found.calls[part["index"]], part.get("function", {})
        call.id += part.get("id") or ""
        call.name += function.get("name") or ""
        call.arguments += function.get("arguments") or ""


@app.conversation(budgets=[tokens], apology="The model does not answer. Please try again.")
async def assistant(chat: Chat, state: Memory = Memory()) -> None:  # noqa: B008 - never changed
    """Answer one message, and continue with what to remember."""
    message = await chat.receive()
    messages = [*state.messages, {"role": "user", "content": message.text}]
    try:
        await answer(chat, messages)
    except BudgetExceeded:
        await chat.say("I have used up my tokens for today.")
    await chat.continue_as(Memory(messages=messages[-REMEMBERED:]))


async def answer(chat: Chat, messages: list[dict[str, Any]]) -> None:
    """Let the model use tools until it answers; what it said and did is added to the messages."""
    async with chat.typing(markdown=True) as out:
        for number in range(MOST_CALLS):
            name = f"model {number}"
            completion = await chat.step(name, complete, messages, out.write, retries=2)
            await chat.budget.report(tokens=completion.tokens, key=name)
            if not completion.calls:
                break
            messages.append({"role": "assistant", "tool_calls": _called(completion)})
            for call in completion.calls:
                result = await chat.step(f"tool {call.id}", use_tool, call)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        messages.append({"role": "assistant", "content": completion.text})
        out.text = completion.text


def _called(completion: Completion) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in completion.calls
    ]


async def main() -> None:
    """Talk with the assistant."""
    async with fake_model.serving() as url:
        os.environ.setdefault("OPENAI_BASE_URL", url)
        async with app.worker(WorkerSettings(lease_ms=5_000)):
            for text in ("Hello!", "How is the weather in Rome?"):
                print(f"user: {text}")
                for reply in (await assistant.send(text, user="ann", wait=60)).replies:
                    print(f"assistant: {reply.text}")
            budget = await app.engine.budgets.get(tokens)
            print(f"tokens used: {budget.usage['tokens']}")


if __name__ == "__main__":
    asyncio.run(main())
