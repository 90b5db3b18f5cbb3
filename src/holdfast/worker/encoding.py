"""Converts values to JSON and back by their type hints."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError

from holdfast.errors import InvalidInput, NotSerializable

#: Bytes inside JSON travel as base64, and numbers that JSON lacks as strings.
CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="strings")


class Encoding:
    """The JSON encoding of one type."""

    def __init__(self, what: str, hint: Any) -> None:
        self._what = what
        self.hint = hint
        try:
            # Making an adapter takes half a millisecond. Classes are compared by identity; other
            # hints may be equal and mean different things, such as unions in another order.
            is_simple = hint is Any or isinstance(hint, type)
            self.adapter: TypeAdapter[Any] = _known(hint) if is_simple else _adapter(hint)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            message = f"{what}: values of type {hint!r} have no JSON form ({error.message})"
            raise InvalidInput(message, field=what) from error
        #: Decode and check. The methods of the adapter cost several times more than these.
        self.decode: Callable[[bytes], Any] = self.adapter.validator.validate_json
        self._check = self.adapter.validator.validate_python
        self._dump = self.adapter.serializer.to_json

    def encode(self, value: Any) -> bytes:
        """Check a value and encode it."""
        checked = self._check(value)
        try:
            return self._dump(checked, by_alias=True)
        except PydanticSerializationError as error:
            message = f"{self._what} has no JSON form: {error}"
            raise NotSerializable(message) from error

    def encode_result(self, value: Any, task: str, step: str | None = None) -> bytes:
        """Encode the result of a task or step; an error names which."""
        try:
            return self.encode(value)
        except (NotSerializable, ValidationError) as error:
            place = f"step {step!r} of task {task}" if step else f"task {task}"
            problem = _first(error) if isinstance(error, ValidationError) else error.message
            message = f"the result of {place} cannot be stored: {problem}"
            raise NotSerializable(message, task=task, step=step) from error


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg']}" if place else problem["msg"]


def _adapter(hint: Any) -> TypeAdapter[Any]:
    """Return the adapter of a type whose values have a JSON form."""
    try:
        adapter = TypeAdapter(hint, config=CONFIG)
    except PydanticUserError as error:
        # Models, dataclasses and typed dictionaries bring their own configuration.
        if error.code != "type-adapter-config-unused":
            raise
        adapter = TypeAdapter(hint)
    adapter.json_schema()
    return adapter


_known = functools.lru_cache(256)(_adapter)
