"""The banner of a worker: where to talk to what runs."""

from __future__ import annotations

from holdfast import App, Chat
from holdfast.cli.process import banner

app = App()


@app.task
def work() -> None:
    pass


@app.conversation
async def support(chat: Chat) -> None:
    await chat.say("Hello.")


@app.conversation(name="team/inner")
async def inner(chat: Chat) -> None:
    await chat.say("Hello.")


def test_every_conversation_that_has_an_address_has_a_chat() -> None:
    """A name with a slash is no name of a web chat."""
    assert banner._chats(app, "http://h") == ["http://h/chat/local/support"]
