"""Answers of models, put together from the parts that arrive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from holdfast.host.flows.runners import NodeFailed

#: How long the text of an answer may be.
TEXT_CHARS = 131_072
#: How many tools an answer may call, and how long the arguments of a call may be.
CALLS = 32
ARGUMENT_CHARS = 65_536


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Part(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Part | None = None
    message: _Part | None = None
    finish_reason: str | None = None


class Usage(msgspec.Struct):
    """What a call used, in tokens."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0

    @property
    def total(self) -> int:
        """All tokens; some servers report only the parts."""
        return max(self.total_tokens, self.prompt_tokens + self.completion_tokens, 0)


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: Usage | None = None
    error: Any = None


_DECODER = msgspec.json.Decoder(_Chunk)


@dataclass(slots=True)
class ToolCall:
    """A call of a tool that a model asks for."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Completion:
    """What a model has said so far."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage | None = None
    #: Whether the model has come to an end.
    is_whole: bool = False

    def add(self, data: str | bytes) -> str:
        """Add a part in JSON; returns the text that is new. Raises NodeFailed."""
        try:
            chunk = _DECODER.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            message = "the model sent something that is no part of an answer"
            raise NodeFailed("model_bad_response", message, retryable=True) from None
        if chunk.error is not None:
            raise NodeFailed("model_failed", "the model broke off with an error", retryable=True)
        self.usage = chunk.usage or self.usage
        new = ""
        for choice in chunk.choices[:1]:
            self.is_whole = self.is_whole or choice.finish_reason is not None
            part = choice.delta or choice.message or _Part()
            new += part.content or ""
            for number, call in enumerate(part.tool_calls or ()):
                self._add_call(number, call)
        self.text += new
        if len(self.text) > TEXT_CHARS:
            message = f"the answer has more than {TEXT_CHARS} characters"
            raise NodeFailed("model_too_large", message)
        return new

    def _add_call(self, number: int, call: _Call) -> None:
        place = call.index if call.index is not None else number
        if not 0 <= place < CALLS:
            raise NodeFailed("model_too_large", f"the model calls more than {CALLS} tools at once")
        while len(self.calls) <= place:
            self.calls.append(ToolCall())
        known = self.calls[place]
        known.id = known.id or call.id or ""
        if call.function is not None:
            known.name += call.function.name or ""
            known.arguments += call.function.arguments or ""
        if len(known.arguments) > ARGUMENT_CHARS:
            message = f"the arguments of a tool have more than {ARGUMENT_CHARS} characters"
            raise NodeFailed("model_too_large", message)
