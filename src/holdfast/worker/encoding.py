"""How values become JSON and come back, by their type hints."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError

from holdfast.errors import InvalidInput

#: Bytes inside JSON travel as base64, and numbers that JSON lacks as strings.
CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="strings")


class Encoding:
    """JSON of one type."""

    def __init__(self, what: str, hint: Any) -> None:
        self.what = what
        self.hint = hint
        try:
            self.adapter: TypeAdapter[Any] = _adapter(hint)
            self.adapter.json_schema()
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            message = f"{what}: values of type {hint!r} have no JSON form ({error.message})"
            raise InvalidInput(message, field=what) from error

    def encode(self, value: Any, what: str | None = None) -> bytes:
        """Check a value and encode it; `what` says in errors what it is."""
        try:
            return self.adapter.dump_json(self.adapter.validate_python(value), by_alias=True)
        except PydanticSerializationError as error:
            kind = type(value).__name__
            message = f"{what or self.what}: a value of type {kind} has no JSON form ({error})"
            raise ValueError(message) from error

    def decode(self, payload: bytes) -> Any:
        """Decode and check."""
        return self.adapter.validate_json(payload)


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=CONFIG)
    except PydanticUserError as error:
        # Models, dataclasses and typed dictionaries bring their own configuration.
        if error.code != "type-adapter-config-unused":
            raise
        return TypeAdapter(hint)
