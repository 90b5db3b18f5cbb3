"""Questions to the user: how an answer becomes a value, and what is said of one that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

from pydantic import ValidationError

from holdfast.errors import InvalidInput
from holdfast.worker.encoding import Encoding
from holdfast.worker.messages import Button, ChatMessage, buttons_of

T_co = TypeVar("T_co", covariant=True)

_WHAT: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    bool: "yes or no",
    str: "some text",
}


class Unfit(Exception):
    """A message is no answer to the question; says what would be one."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """A valid answer."""

    value: T_co
    message: ChatMessage

    @property
    def text(self) -> str:
        """The answer as the user wrote it."""
        return self.message.text


class Expected:
    """The type of an answer."""

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        self._encoding = Encoding("type of an answer", hint)
        self._options = _options_of(hint)

    @property
    def form(self) -> Mapping[str, Any] | None:
        """The JSON Schema of an answer that is an object; None if one can be written as text."""
        if self._options or self._hint in _WHAT:
            return None
        schema = self._encoding.adapter.json_schema()
        return schema if schema.get("type") == "object" else None

    def read(self, message: ChatMessage, replies: set[int]) -> Any:
        """Return the value of an answer to one of these replies; raises Unfit."""
        check_press(message, replies)
        if message.data is not None:
            return self._validated(message.data)
        # What a button stands for counts as if it were written.
        text = (message.choice or message.text).strip()
        if not text:
            raise Unfit(self._hopes())
        if self._options:
            named = self._options.get(text.casefold())
            if named is None:
                raise Unfit(self._hopes())
            return named.value
        if self._hint is str:
            return text
        return self._validated(text)

    def _validated(self, value: Any) -> Any:
        adapter = self._encoding.adapter
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            problem = error
        if isinstance(value, str):
            try:
                return adapter.validate_strings(value)
            except ValidationError:
                pass
        raise Unfit(self._hopes(problem))

    def _hopes(self, problem: ValidationError | None = None) -> str:
        if self._options:
            labels = dict.fromkeys(named.label for named in self._options.values())
            return f"Please answer with one of: {', '.join(labels)}."
        if self._hint in _WHAT:
            return f"Please answer with {_WHAT[self._hint]}."
        if problem is None:
            return "Please answer the question."
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        about = f"{place}: {first['msg']}" if place else first["msg"]
        return f"That does not fit ({about}). Please try again."


@dataclass(frozen=True, slots=True)
class _Named:
    label: str
    value: Any


def _options_of(hint: Any) -> dict[str, _Named]:
    """Return the values of a literal or an enumeration, by what a user may write for them."""
    if get_origin(hint) is Literal:
        return {str(one).casefold(): _Named(str(one), one) for one in get_args(hint)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        names = {one.name.casefold(): _Named(str(one.value), one) for one in hint}
        return names | {str(one.value).casefold(): _Named(str(one.value), one) for one in hint}
    return {}


def check_press(message: ChatMessage, replies: set[int]) -> None:
    """Refuse a button or a form of another reply: it answers that one, not this question."""
    is_sent = message.choice is not None or message.data is not None
    if is_sent and message.reply is not None and message.reply not in replies:
        raise Unfit("That belongs to an earlier question.")


class Options:
    """What a user can choose from."""

    def __init__(self, given: Sequence[str | Button] | Mapping[str, str]) -> None:
        self.buttons: list[Button] = buttons_of(given)
        if not self.buttons:
            raise InvalidInput("options: must not be empty", field="options")

    def read(self, message: ChatMessage, replies: set[int]) -> str:
        """Return the value that was chosen: by a button, its name or its number; raises Unfit."""
        check_press(message, replies)
        if message.choice is not None:
            for button in self.buttons:
                if button.value == message.choice:
                    return button.value
            raise Unfit(self._hopes())
        text = message.text.strip().casefold().rstrip(".")
        for button in self.buttons:
            if text and text in (button.value.casefold(), button.label.casefold()):
                return button.value
        if text.isdecimal() and 1 <= int(text) <= len(self.buttons):
            return self.buttons[int(text) - 1].value
        raise Unfit(self._hopes())

    def _hopes(self) -> str:
        labels = ", ".join(button.label for button in self.buttons)
        return f"Please choose one of: {labels}."


def is_silent(message: ChatMessage) -> bool:
    """Whether an event says nothing that could be an answer: questions do not notice it."""
    has_content = message.text or message.choice is not None or message.data is not None
    return message.kind == "event" and not has_content
