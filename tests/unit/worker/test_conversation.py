"""Declaring conversations: parameters, options, descriptions, senders."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from holdfast import App, Chat, Context, OutgoingReply, SyncChat, use
from holdfast.errors import InvalidInput, TaskError
from holdfast.model.declarations import declaration
from holdfast.model.sessions import Busy, Message
from holdfast.worker.conversation import Conversation
from holdfast.worker.messages import merged, opening, reply_payload


def _message(number: int, **payload: Any) -> Message:
    return Message(number=number, at=number, id=f"m{number}", kind="message", payload=payload)


def test_a_conversation_is_a_task_that_says_how_it_converses() -> None:
    """Workers publish it, and the store reads how to treat messages."""
    app = App()

    @app.conversation(name="help", busy="merge", apology="Oh.", lane="chats", timeout=60)
    async def support(chat: Chat, state: dict[str, int] | None = None) -> None:
        """Help."""

    assert isinstance(support, Conversation)
    assert app.tasks == {"help": support}
    described = support.describe()
    assert described["conversation"] == {"busy": "merge", "apology": "Oh."}
    assert (described["lane"], described["description"]) == ("chats", "Help.")
    declared = declaration("help", described)
    assert declared.conversation is not None
    assert declared.conversation.busy is Busy.MERGE
    assert support.arguments(b'{"messages":[]}') == {}
    assert support.arguments(support.encode_input((), {"state": {"a": 1}})) == {"state": {"a": 1}}


def test_a_plain_function_takes_a_sync_chat() -> None:
    """And resources, like a task."""
    app = App()

    @app.conversation
    def support(chat: SyncChat, db: str = use(lambda: "db")) -> None:
        """Help."""

    assert not support.is_async
    assert support.encode_input((), {}) == b"{}"
    with pytest.raises(InvalidInput, match="no parameter `state`"):
        support.encode_input((), {"state": 1})


async def _without_chat() -> None: ...
async def _wrong_chat(chat: SyncChat) -> None: ...
def _wrong_sync_chat(chat: Chat) -> None: ...
async def _context(ctx: Context) -> None: ...
async def _argument(chat: Chat, order: int = 0) -> None: ...
async def _state_without_default(chat: Chat, state: int) -> None: ...


@pytest.mark.parametrize(
    "fn",
    [
        _without_chat,
        _wrong_chat,
        _wrong_sync_chat,
        _context,
        _argument,
        _state_without_default,
    ],
)
def test_other_parameters_are_refused(fn: Any) -> None:
    """A conversation gets messages, not arguments."""
    with pytest.raises(InvalidInput, match="conversation _"):
        App().conversation(fn)


@pytest.mark.parametrize(
    "options", [{"busy": "ignore"}, {"apology": ""}, {"retrys": 3}, {"name": "a b"}]
)
def test_wrong_options_are_refused(options: Any) -> None:
    """Where they are written."""

    async def support(chat: Chat) -> None: ...

    with pytest.raises(InvalidInput):
        App().conversation(**options)(support)


def test_a_sender_has_a_name_of_its_own() -> None:
    """The app keeps it for the service that sends replies."""
    app = App()

    @app.sender("mail")
    async def send(reply: OutgoingReply) -> None: ...

    assert app.senders == {"mail": send}
    with pytest.raises(TaskError, match="two senders"):
        app.sender("mail")(send)


def test_messages_are_merged_in_order() -> None:
    """Texts of all, and the rest of the last one; none is none."""
    message = merged([_message(3, text="a", x=1), _message(4), _message(5, text="b", y=2)])
    assert message is not None
    assert (message.number, message.id, message.text) == (5, "m5", "a\nb")
    assert message.payload == {"text": "a\nb", "y": 2}
    assert [part.number for part in message.parts] == [3, 4, 5]
    assert merged([]) is None
    assert opening(b'{"state":1}') is None
    with pytest.raises(InvalidInput, match="must be that of a conversation"):
        opening(b"[]")


def test_wrong_types_in_a_payload_are_no_content() -> None:
    """Payloads come from outside."""
    message = merged([_message(1, text=5, choice=["x"], reply=True)])
    assert message is not None
    assert (message.text, message.choice, message.reply, message.data) == ("", None, None, None)


def test_a_reply_has_what_was_said() -> None:
    """Only that; lone surrogates are replaced."""
    payload = reply_payload("a\nb\ud800", markdown=True, buttons={"y": "Yes"}, data={"n": 1})
    assert msgspec.json.decode(payload) == {
        "text": "a\nb?",
        "markdown": True,
        "buttons": [{"label": "Yes", "value": "y"}],
        "data": {"n": 1},
    }
