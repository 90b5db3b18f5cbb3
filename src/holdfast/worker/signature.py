"""How a function's arguments and result become bytes and come back, checked by its hints.

Arguments travel as one JSON object of named values, so that any language can submit. A function
of one `bytes` parameter gets the input as it is; a result of type `bytes` is stored as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from holdfast.errors import InvalidInput
from holdfast.worker.resources import Resource

BYTES_CONTENT_TYPE = "application/octet-stream"

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of a task's function."""

    #: Parameters that come from the input, without context and resources.
    shape: inspect.Signature
    #: The name of the parameter that takes the context, if there is one.
    context: str | None
    resources: Mapping[str, Resource]
    #: The only parameter, if it takes the input as bytes.
    raw_input: str | None
    arguments: type[BaseModel]
    result: TypeAdapter[Any]
    raw_result: bool

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """Check arguments and encode them; raises InvalidInput."""
        arguments = kwargs
        if args or self.raw_input is not None:
            try:
                arguments = self.shape.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise InvalidInput(f"input: {error}", field="input") from error
        if self.raw_input is not None:
            value = arguments[self.raw_input]
            if not isinstance(value, bytes):
                raise InvalidInput("input: must be bytes", field="input")
            return value
        return self._checked(arguments).model_dump_json(exclude_unset=True).encode()

    def decode(self, payload: bytes) -> dict[str, Any]:
        """Return the keyword arguments of an input; raises InvalidInput."""
        if self.raw_input is not None:
            return {self.raw_input: payload}
        if payload == b"null":
            payload = b"{}"
        try:
            checked = self.arguments.model_validate_json(payload)
        except ValidationError as error:
            raise _invalid(error) from error
        return {name: getattr(checked, name) for name in checked.model_fields_set}

    def _checked(self, values: Mapping[str, Any]) -> BaseModel:
        try:
            return self.arguments.model_validate(values)
        except ValidationError as error:
            raise _invalid(error) from error

    def encode_result(self, value: Any) -> tuple[bytes, str | None]:
        """Encode a result; returns its content type if it is not JSON."""
        if self.raw_result and isinstance(value, bytes):
            return value, BYTES_CONTENT_TYPE
        return self.result.dump_json(self.result.validate_python(value)), None

    def decode_result(self, payload: bytes) -> Any:
        """Decode a result."""
        return payload if self.raw_result else self.result.validate_json(payload)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of input and result."""
        if self.raw_input is not None:
            arguments: dict[str, Any] = {"contentMediaType": BYTES_CONTENT_TYPE}
        else:
            arguments = self.arguments.model_json_schema()
        result: dict[str, Any] = {"contentMediaType": BYTES_CONTENT_TYPE}
        if not self.raw_result:
            result = self.result.json_schema(mode="serialization")
        return {"input": arguments, "result": result}


def _invalid(error: ValidationError) -> InvalidInput:
    problems = [
        f"input.{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    ]
    first = error.errors(include_url=False, include_input=False)[0]["loc"]
    return InvalidInput("; ".join(problems), field="input." + ".".join(map(str, first)))


def inspect_function(function: Callable[..., Any], contexts: tuple[type, ...]) -> Signature:
    """Read the hints of a task's function; raises InvalidInput if it cannot be a task."""
    name = getattr(function, "__name__", str(function))
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    context: str | None = None
    resources: dict[str, Resource] = {}
    fields: dict[str, Any] = {}
    kept = []
    for parameter in signature.parameters.values():
        hint = hints.get(parameter.name, Any)
        if parameter.kind not in _NAMED:
            problem = f"task {name}: parameter {parameter.name} must be passable by name"
            raise InvalidInput(problem, field=parameter.name)
        if isinstance(hint, type) and issubclass(hint, contexts):
            context = parameter.name
        elif isinstance(parameter.default, Resource):
            resources[parameter.name] = parameter.default
        else:
            required = parameter.default is inspect.Parameter.empty
            fields[parameter.name] = (hint, ... if required else parameter.default)
            kept.append(parameter)
    raw_input = next(iter(fields)) if [f[0] for f in fields.values()] == [bytes] else None
    returns = hints.get("return", Any)
    return Signature(
        shape=signature.replace(parameters=kept, return_annotation=signature.empty),
        context=context,
        resources=resources,
        raw_input=raw_input,
        arguments=create_model(
            name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True), **fields
        ),
        result=TypeAdapter(returns),
        raw_result=returns is bytes,
    )
