"""Converts a function's arguments and result to bytes and back, checked by its type hints.

Arguments are sent as one JSON object of named values, so that any language can submit. A function
with one `bytes` parameter gets the input unchanged; a result of type `bytes` is stored unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from holdfast.errors import InvalidInput
from holdfast.worker.encoding import Encoding
from holdfast.worker.resources import Resource

BYTES_CONTENT_TYPE = "application/octet-stream"

T = TypeVar("T")

_JSON = msgspec.json.Encoder().encode
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters and the result type of a task's function."""

    #: Parameters that come from the input, without context and resources.
    shape: inspect.Signature
    #: Those of them that can be passed without their names.
    positional: tuple[str, ...]
    #: The name of the parameter that takes the context, if there is one.
    context: str | None
    resources: Mapping[str, Resource]
    #: The only parameter, if it takes the input as bytes.
    raw_input: str | None
    arguments: Mapping[str, Encoding]
    result: Encoding
    raw_result: bool

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """Check arguments and encode them; raises InvalidInput."""
        arguments = kwargs
        if args or self.raw_input is not None:
            try:
                bound = self.shape.bind(*args, **kwargs)
            except TypeError as error:
                raise InvalidInput(f"input: {error}", field="input") from error
            arguments = bound.arguments
        if self.raw_input is not None:
            return self._raw(arguments)
        encoded = self._converted(arguments, lambda encoding, value: encoding.encode(value))
        members = (_JSON(name) + b":" + value for name, value in encoded.items())
        return b"{" + b",".join(members) + b"}"

    def encode_partly(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], is_promised: Callable[[Any], bool]
    ) -> tuple[bytes, dict[str, Any]]:
        """Encode arguments, some of which come later; returns those by name as well."""
        arguments: dict[str, Any]
        if kwargs or len(args) > len(self.positional):
            try:
                arguments = self.shape.bind_partial(*args, **kwargs).arguments
            except TypeError as error:
                raise InvalidInput(f"input: {error}", field="input") from error
        else:
            # Takes a fraction of the time.
            arguments = dict(zip(self.positional, args, strict=False))
        promised = {name: value for name, value in arguments.items() if is_promised(value)}
        if not promised:
            return self.encode(args, kwargs), {}
        if self.raw_input is not None:
            message = "input: a task that takes bytes cannot receive results of other members"
            raise InvalidInput(message, field="input")
        given = {name: value for name, value in arguments.items() if name not in promised}
        encoded = self._converted(given, lambda encoding, value: encoding.encode(value), promised)
        members = (_JSON(name) + b":" + value for name, value in encoded.items())
        return b"{" + b",".join(members) + b"}", promised

    def _converted(
        self,
        given: Mapping[str, Any],
        convert: Callable[[Encoding, Any], T],
        promised: Collection[str] = (),
    ) -> dict[str, T]:
        """Convert the given arguments; raises InvalidInput that names every wrong field."""
        converted: dict[str, T] = {}
        problems: list[tuple[str, str]] = []
        for name, parameter in self.shape.parameters.items():
            if name in given:
                try:
                    converted[name] = convert(self.arguments[name], given[name])
                except ValidationError as error:
                    problems += _problems(name, error)
            elif parameter.default is inspect.Parameter.empty and name not in promised:
                problems.append((f"input.{name}", "Field required"))
        unknown = (name for name in given if name not in self.arguments)
        problems += [(f"input.{name}", "Extra inputs are not permitted") for name in unknown]
        if problems:
            message = "; ".join(f"{place}: {problem}" for place, problem in problems)
            raise InvalidInput(message, field=problems[0][0])
        return converted

    def _raw(self, arguments: Mapping[str, Any]) -> bytes:
        name = self.raw_input or ""
        value = arguments.get(name, self.shape.parameters[name].default)
        if not isinstance(value, bytes):
            raise InvalidInput("input: must be bytes", field="input")
        return value

    def decode(self, payload: bytes) -> dict[str, Any]:
        """Return the keyword arguments of an input; raises InvalidInput."""
        if self.raw_input is not None:
            return {self.raw_input: payload}
        try:
            members = _MEMBERS(b"{}" if payload == b"null" else payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"input: must be a JSON object ({error})"
            raise InvalidInput(message, field="input") from error
        arguments = self.arguments
        if members.keys() == arguments.keys():
            # Nothing is missing or unknown. Wrong values are described below.
            try:
                return {name: arguments[name].decode(bytes(members[name])) for name in members}
            except ValidationError:
                pass
        return self._converted(members, lambda encoding, value: encoding.decode(bytes(value)))

    def encode_result(self, value: Any, task: str) -> tuple[bytes, str | None]:
        """Encode a result of a task; returns its content type if it is not JSON."""
        if self.raw_result and isinstance(value, bytes):
            return value, BYTES_CONTENT_TYPE
        return self.result.encode_result(value, task), None

    def decode_result(self, payload: bytes) -> Any:
        """Decode a result."""
        return payload if self.raw_result else self.result.decode(payload)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of input and result."""
        raw = {"contentMediaType": BYTES_CONTENT_TYPE}
        return {
            "input": raw if self.raw_input else self._input_schema(),
            "result": raw
            if self.raw_result
            else self.result.adapter.json_schema(mode="serialization"),
        }

    def _input_schema(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for number, (name, encoding) in enumerate(self.arguments.items()):
            default = self.shape.parameters[name].default
            given = ... if default is inspect.Parameter.empty else default
            # Fields get generated names: an author's may collide with model methods.
            fields[f"field{number}"] = (encoding.hint, Field(given, alias=name))
        config = ConfigDict(extra="forbid")
        model: type[BaseModel] = create_model("input", __config__=config, **fields)
        return model.model_json_schema()


def _problems(name: str, error: ValidationError) -> list[tuple[str, str]]:
    return [
        (".".join(("input", name, *map(str, problem["loc"]))), problem["msg"])
        for problem in error.errors(include_url=False, include_input=False)
    ]


def inspect_function(function: Callable[..., Any], contexts: tuple[type, ...]) -> Signature:
    """Read the hints of a task's function; raises InvalidInput if it cannot be a task."""
    name = getattr(function, "__name__", str(function))
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    context: str | None = None
    resources: dict[str, Resource] = {}
    arguments: dict[str, Encoding] = {}
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
            what = f"task {name}: parameter {parameter.name}"
            arguments[parameter.name] = Encoding(what, hint)
            kept.append(parameter)
    only_bytes = [hints.get(parameter.name) for parameter in kept] == [bytes]
    returns = hints.get("return", Any)
    return Signature(
        shape=signature.replace(parameters=kept, return_annotation=signature.empty),
        positional=tuple(one.name for one in kept if one.kind is one.POSITIONAL_OR_KEYWORD),
        context=context,
        resources=resources,
        raw_input=kept[0].name if only_bytes else None,
        arguments=arguments,
        result=Encoding(f"task {name}: result", returns),
        raw_result=returns is bytes,
    )
