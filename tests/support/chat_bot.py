"""A conversation for the tests of the web chat: it does what the visitor writes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from holdfast import App, Chat

app = App()

#: A streamed reply waits in its middle until this file exists.
GATE = Path(os.environ.get("CHAT_GATE", ""))
WORDS = 40


class Order(BaseModel):
    """What a form asks for."""

    name: str = Field(title="Your name")
    size: Literal["small", "large"]
    amount: int = Field(ge=1, le=9)
    gift: bool = False


async def words() -> AsyncIterator[str]:
    """Yield numbered words; halfway, wait for the gate."""
    for number in range(WORDS):
        if number == WORDS // 2:
            while not GATE.exists():  # noqa: ASYNC110, ASYNC240 - a file of the test has no event
                await asyncio.sleep(0.01)
        yield f"w{number} "


@app.conversation
async def bot(chat: Chat) -> None:
    while True:
        message = await chat.receive()
        text = message.text
        if message.files:
            sizes = [len(await chat.read_file(file)) for file in message.files]
            await chat.say(f"I have {sizes} bytes.", files=message.files)
        elif text == "stream":
            await chat.stream_reply("words", words, markdown=True)
        elif text == "choose":
            size = await chat.choose("Which size?", {"s": "Small", "l": "Large"})
            await chat.say(f"You chose {size}.")
        elif text == "form":
            order = (await chat.ask("What do you need?", type=Order)).value
            await chat.say(f"{order.amount} {order.size} for {order.name}.")
        elif text == "card":
            facts = [{"title": "Carrier", "value": "Post"}]
            await chat.say("Your order.", card={"title": "Order 17", "facts": facts})
        elif text == "markdown":
            page = "**bold** <b>raw</b> [link](https://example.org) [bad](javascript:alert(1))"
            await chat.say(f"{page}\n\n- one\n- two\n\n```\ncode\n```", markdown=True)
        elif text == "person":
            await chat.handover("Ann", reason="a refund")
            await chat.say("I am back.")
        else:
            await chat.say(f"You said {text}.")
