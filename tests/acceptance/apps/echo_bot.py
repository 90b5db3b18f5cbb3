"""A bot that answers each message twice."""

from __future__ import annotations

from holdfast import App, Chat

app: App = App()


@app.conversation
async def echo(chat: Chat) -> None:
    """Answer until the user says goodbye."""
    while True:
        message = await chat.receive()
        await chat.say(f"{message.text} a")
        await chat.say(f"{message.text} b")
