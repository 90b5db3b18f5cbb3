"""Messages as a conversation receives them, and the payloads of its replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import checks
from holdfast.model.moments import from_ms
from holdfast.model.sessions import Message
from holdfast.worker.encoding import Encoding

_JSON = Encoding("reply", Any)
_BUTTONS = 20
_LABEL_CHARS = 256


class _Input(msgspec.Struct):
    """The input of a conversation's execution."""

    messages: list[Message] = []


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message from the user, or several that arrived while a turn ran, merged into one."""

    #: The number of the last one in the transcript.
    number: int
    at: datetime
    #: The sender's id for it.
    id: str
    kind: str
    payload: Mapping[str, Any]
    #: What was merged, in order; of a message that is alone, itself.
    parts: tuple[Message, ...] = ()

    @property
    def text(self) -> str:
        """What the user wrote, empty if nothing."""
        text = self.payload.get("text")
        return text if isinstance(text, str) else ""

    @property
    def choice(self) -> str | None:
        """The value of the button that was pressed. What a user types is never a choice."""
        choice = self.payload.get("choice")
        return choice if isinstance(choice, str) else None

    @property
    def reply(self) -> int | None:
        """The number of the reply whose button was pressed or whose form was sent, if known."""
        reply = self.payload.get("reply")
        return reply if isinstance(reply, int) and not isinstance(reply, bool) else None

    @property
    def files(self) -> Sequence[Mapping[str, Any]]:
        """The files that came with it: `name`, `type`, and `id` or `url`, as the channel has them.

        Those of the web chat also have `size` and `sha256`; `chat.read_file` reads them.
        """
        files = self.payload.get("files")
        return [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []

    @property
    def data(self) -> Any:
        """The values of a form that was sent, or None."""
        return self.payload.get("data")


def merged(messages: Sequence[Message]) -> ChatMessage | None:
    """Return messages as one: texts and files of all, and the rest of the last one's payload."""
    if not messages:
        return None
    last = messages[-1]
    payload = last.payload
    if len(messages) > 1:
        texts = [one.payload.get("text") for one in messages]
        payload = {**payload, "text": "\n".join(t for t in texts if isinstance(t, str) and t)}
        lists = [one.payload.get("files") for one in messages]
        if files := [file for files in lists if isinstance(files, list) for file in files]:
            payload["files"] = files
    return ChatMessage(last.number, from_ms(last.at), last.id, last.kind, payload, tuple(messages))


def opening(payload: bytes) -> ChatMessage | None:
    """Return the message that started an execution; there is none after `continue_as`."""
    try:
        return merged(msgspec.json.decode(payload, type=_Input).messages)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"input: must be that of a conversation ({error})"
        raise InvalidInput(message, field="input") from error


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a reply; pressing it sends its value as the `choice` of a message."""

    label: str
    value: str

    def __post_init__(self) -> None:
        checks.text("label", self.label, _LABEL_CHARS, empty=False)
        checks.text("value", self.value, _LABEL_CHARS, empty=False)


#: Labels that are values, pairs of value and label, or buttons.
Buttons = Sequence[str | Button] | Mapping[str, str]


def buttons_of(given: Buttons) -> list[Button]:
    """Return the buttons that an author means; raises InvalidInput."""
    if isinstance(given, Mapping):
        found = [Button(label, value) for value, label in given.items()]
    else:
        found = [one if isinstance(one, Button) else Button(one, one) for one in given]
    if len(found) > _BUTTONS:
        checks.refuse("buttons", f"must be at most {_BUTTONS}", len(found))
    if len({button.value for button in found}) < len(found):
        checks.refuse("buttons", "must have different values", [one.value for one in found])
    return found


def reply_payload(
    text: str,
    *,
    card: Mapping[str, Any] | None = None,
    buttons: Buttons = (),
    data: Any = None,
    form: Mapping[str, Any] | None = None,
    files: Sequence[Mapping[str, Any]] = (),
    markdown: bool = False,
    **further: Any,
) -> bytes:
    """Return the payload of a reply; raises InvalidInput for one that says nothing."""
    if not isinstance(text, str):
        checks.refuse("text", "must be a string", text)
    payload: dict[str, Any] = {"text": text.encode("utf-8", "replace").decode()} if text else {}
    if markdown:
        payload["markdown"] = True
    if card is not None:
        payload["card"] = checks.mapping("card", card)
    if buttons:
        payload["buttons"] = [
            {"label": button.label, "value": button.value} for button in buttons_of(buttons)
        ]
    if data is not None:
        payload["data"] = data
    if form is not None:
        payload["form"] = checks.mapping("form", form)
    if files:
        if not isinstance(files, list | tuple):
            checks.refuse("files", "must be a list", files)
        payload["files"] = [checks.mapping("files", file) for file in files]
    if not payload:
        raise InvalidInput("text: a reply must say something", field="text")
    return _JSON.encode(payload | further)
