"""What a caller does not see of payloads, and how an answer looks to it.

Every answer passes through a veil: replies, live events, problems, and payloads that are an answer
by themselves. For a caller that sees no payloads, `[hidden]` stands in their place; for one that
sees them redacted, `[redacted]` stands for the parts that the rules of the tenant name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from holdfast.model.sight import HIDDEN, Path, redacted, redacted_bytes
from holdfast.server.views.seen import Part, parts_of

#: What is said of an error whose message and details are hidden.
_OF_ERRORS = ("type", "code", "place")
_DETAILS = "details"
_HIDDEN = msgspec.json.encode(HIDDEN)


@dataclass(frozen=True, slots=True)
class Veil:
    """What one caller does not see."""

    #: Whether it sees no payload at all.
    opaque: bool = False
    #: The parts that rules redact.
    paths: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        """Whether it covers anything."""
        return self.opaque or bool(self.paths)

    def over(self, answer: Any) -> Any:
        """Return an answer as the caller sees it. Views are changed in place."""
        if not self:
            return answer
        if isinstance(answer, msgspec.Struct):
            self._cover(answer)
        elif isinstance(answer, dict):
            return {name: self._fact(name, value) for name, value in answer.items()}
        elif isinstance(answer, list | tuple):
            return [self.over(item) for item in answer]
        return answer

    def over_bytes(self, payload: bytes) -> bytes:
        """Return a payload as the caller sees it."""
        return _HIDDEN if self.opaque else redacted_bytes(payload, self.paths)

    def error(self, error: Any) -> Any:
        """Return an error as the caller sees it."""
        if not isinstance(error, Mapping):
            return HIDDEN if self.opaque and isinstance(error, str) else error
        if not self.opaque:
            deeper = tuple((_DETAILS, *path) for path in self.paths)
            return redacted(error, (*self.paths, *deeper))
        brief = {name: error[name] for name in _OF_ERRORS if name in error}
        return brief | ({"message": HIDDEN} if "message" in error else {})

    def over_bare(self, response: Response) -> Response:
        """Return an answer that is a payload by itself as the caller sees it."""
        if self.paths and hasattr(response, "body"):
            response.body = redacted_bytes(bytes(response.body), self.paths)
            response.headers["content-length"] = str(len(response.body))
        return response

    def _cover(self, view: msgspec.Struct) -> None:
        parts = parts_of(type(view))
        for name in view.__struct_fields__:
            value = getattr(view, name)
            if name in parts:
                setattr(view, name, self._seen(view, name, parts[name]))
            elif isinstance(value, msgspec.Struct | dict | list | tuple):
                setattr(view, name, self.over(value))

    def _fact(self, name: str, value: Any) -> Any:
        """Cover a member of an object that is no view, such as an event or a problem."""
        return self.error(value) if name == "error" else self.over(value)

    def _seen(self, view: msgspec.Struct, name: str, part: Part) -> Any:
        value = getattr(view, name)
        if part is Part.ERROR:
            return self.error(value)
        if part is Part.TEMPLATE:
            return self._template(value)
        if not self.opaque:
            return self._redacted(view, name, part)
        if part in {Part.BASE64, Part.OBJECT}:
            return UNSET if part is Part.BASE64 else {}
        absent = value is None and getattr(view, f"{name}_base64", UNSET) is UNSET
        return value if absent or value is UNSET else HIDDEN

    def _redacted(self, view: msgspec.Struct, name: str, part: Part) -> Any:
        value = getattr(view, name)
        if value is UNSET or part in {Part.WORDS, Part.BASE64}:
            return value
        if part in {Part.WHOLE, Part.OBJECT}:
            return redacted(value, self.paths)
        field = name if part is Part.FIELD else getattr(view, "name")  # noqa: B009 - of any view
        whole = bytes(redacted({field: value}, self.paths))
        return msgspec.json.decode(whole, type=dict[str, msgspec.Raw])[field]

    def _template(self, fields: dict[str, Any]) -> dict[str, Any]:
        if "input" not in fields and "input_base64" not in fields:
            return fields
        kept = {name: value for name, value in fields.items() if name != "input_base64"}
        if self.opaque:
            return kept | {"input": HIDDEN}
        if "input" not in kept:
            return fields
        return kept | {"input": redacted(kept["input"], self.paths)}


#: For callers that see payloads as they are.
CLEAR = Veil()
