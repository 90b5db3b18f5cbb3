"""Answers to questions: how a message becomes a value of the wanted schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import schemas
from holdfast.worker.asking import is_silent
from holdfast.worker.messages import ChatMessage

_YES = frozenset({"yes", "y", "true", "ok"})
_NO = frozenset({"no", "n", "false"})
_WANTED = {
    "integer": "Please answer with a whole number.",
    "number": "Please answer with a number.",
    "boolean": "Please answer with yes or no.",
}


class InvalidAnswer(ValueError):
    """A message is no valid answer; says what would be one."""


def question(text: str, schema: Any) -> dict[str, Any]:
    """Return a question, with a form if the answer is an object."""
    is_object = isinstance(schema, Mapping) and schema.get("type") == "object"
    return {"text": text, "form": schema} if is_object else {"text": text}


def read(message: ChatMessage, schema: Any) -> Any:
    """Return the answer; raises InvalidAnswer."""
    value = message.data if message.data is not None else _typed(_written(message), schema)
    problem = schemas.misfit(msgspec.json.encode(schema), "answer", value)
    if problem is not None:
        raise InvalidAnswer(_wish(schema, problem))
    return value


def says_something(message: ChatMessage) -> bool:
    """Return whether a message can be an answer."""
    return not is_silent(message)


def _written(message: ChatMessage) -> str:
    # What a button stands for counts as if it were written.
    return (message.choice or message.text).strip()


def _typed(text: str, schema: Any) -> Any:
    """Return a text as the type that the schema wants, if it can be read as one."""
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    try:
        if wanted == "integer":
            return int(text)
        if wanted == "number":
            number = int(text) if text.lstrip("+-").isdecimal() else float(text)
            # JSON has neither `nan` nor `inf`.
            return number if number - number == 0 else text
    except ValueError:
        return text
    if wanted == "boolean" and text.casefold() in _YES | _NO:
        return text.casefold() in _YES
    return _option(text, schema)


def _option(text: str, schema: Any) -> Any:
    """Return the option that is meant, however it is capitalised."""
    options = schema.get("enum") if isinstance(schema, Mapping) else None
    for option in options if isinstance(options, list) else []:
        if isinstance(option, str) and option.casefold() == text.casefold():
            return option
    return text


def _wish(schema: Any, problem: InvalidInput) -> str:
    if isinstance(schema, Mapping):
        options = schema.get("enum")
        if isinstance(options, list):
            return f"Please answer with one of: {', '.join(map(str, options))}."
        wanted = schema.get("type")
        if problem.context.get("field") == "answer" and wanted in _WANTED:
            return _WANTED[wanted]
    return "That is not a valid answer. Please try again."
