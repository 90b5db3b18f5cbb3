"""JSON Schema for the payloads of waitpoints and the inputs of tasks.

Schemas come from workers and payloads from untrusted callers, and both meet in a process that also
serves others. So patterns are matched in linear time, and a check that takes too long is abandoned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

import msgspec

from holdfast.errors import InvalidInput, InvalidPayload
from holdfast.model import bounds, checks

#: The CPU time that a check may take.
CHECK_S = 0.1
_BY_PATTERN = "patternProperties"
#: What a schema may raise that is not one; a pattern may repeat too often.
_UNFIT = (TypeError, ValueError, OverflowError, RecursionError)
_ends_at: ContextVar[float] = ContextVar("_ends_at")


class _TooSlow(ArithmeticError):
    """A schema asks for more work than a payload is worth."""


class Uncheckable(Exception):
    """A value cannot be checked: the schema is invalid, or the check takes too long."""


def encode(field: str, schema: Any) -> bytes:
    """Check a schema and return it as JSON. It may refer only to itself."""
    if not isinstance(schema, dict | bool):
        checks.refuse(field, "must be a JSON Schema: an object or a boolean", schema)
    import jsonschema  # noqa: PLC0415 - loaded when used

    try:
        encoded = checks.payload(field, msgspec.json.encode(schema), bounds.SCHEMA_BYTES)
        jsonschema.Draft202012Validator.check_schema(schema)
    except (*_UNFIT, jsonschema.SchemaError) as error:
        checks.refuse(field, f"is not a JSON Schema ({str(error).splitlines()[0][:200]})", schema)
    for name, value in _members(schema):
        if name in {"$ref", "$dynamicRef"}:
            if not isinstance(value, str) or not value.startswith("#"):
                checks.refuse(field, "may refer only to its own parts (`#...`)", value)
        elif name == "pattern" and isinstance(value, str) and not _is_linear(value):
            problem = "may only have patterns that are matched in linear time (no look-around)"
            checks.refuse(field, problem, value)
        elif name == _BY_PATTERN:
            checks.refuse(field, "may not have patternProperties; name the properties", value)
    return encoded


def checkable(schema: Any) -> Any:
    """Return the schema of a model without parts that `encode` refuses; the model checks those."""
    if isinstance(schema, dict):
        kept = {name: checkable(value) for name, value in schema.items() if name != _BY_PATTERN}
        if _BY_PATTERN in schema:
            # Without it, the set of other properties is unknown.
            for others in ("additionalProperties", "unevaluatedProperties"):
                kept.pop(others, None)
        pattern = kept.get("pattern")
        if isinstance(pattern, str) and not _is_linear(pattern):
            del kept["pattern"]
        return kept
    return [checkable(part) for part in schema] if isinstance(schema, list) else schema


def check(schema: bytes, payload: Any) -> None:
    """Raise InvalidPayload unless a decoded payload fits."""
    try:
        problem = _problem(schema, payload)
    except Uncheckable as error:
        message = f"payload: cannot be checked ({error})"
        raise InvalidPayload(message, field="payload") from error
    if problem is not None:
        field = ".".join(["payload", *map(str, problem.absolute_path)])
        raise InvalidPayload(f"{field}: {problem.message[:500]}", field=field)


def misfit(schema: bytes, name: str, value: Any) -> InvalidInput | None:
    """Return the problem of a decoded value, None if it fits; raises Uncheckable."""
    problem = _problem(schema, value)
    if problem is None:
        return None
    path = [name, *map(str, problem.absolute_path), *_culprit(problem)]
    field = ".".join(path)
    return InvalidInput(f"{field}: {problem.message[:500]}", field=field)


def _culprit(problem: Any) -> list[str]:
    """Return the missing or unexpected property."""
    names: list[str] = []
    if problem.validator == "required":
        names = [name for name in problem.validator_value if name not in problem.instance]
    elif problem.validator == "additionalProperties":
        known = problem.schema.get("properties", {})
        names = [name for name in problem.instance if name not in known]
    return names[:1]


def _problem(schema: bytes, value: Any) -> Any:
    """Return the first error of a decoded value, or None; raises Uncheckable."""
    try:
        # The first one of a process loads the library, which takes longer than a check may.
        validator = _validator(schema)
        _ends_at.set(time.thread_time() + CHECK_S)
        return next(iter(validator.iter_errors(value)), None)
    except Exception as error:
        # An invalid schema or reference, a number out of range, too much work: each fails
        # differently.
        raise Uncheckable(type(error).__name__.lstrip("_")) from error


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    from referencing import Registry  # noqa: PLC0415 - loaded when used

    # An empty registry: nothing is ever fetched.
    return _kind()(_without_dialects(msgspec.json.decode(schema)), registry=Registry())


@cache
def _kind() -> Any:
    """Return a validator class for JSON Schema that works in bounded time."""
    import jsonschema  # noqa: PLC0415 - loaded when used

    base = jsonschema.Draft202012Validator
    own = {**base.VALIDATORS, "pattern": _check_text, "uniqueItems": _check_unique}
    return jsonschema.validators.extend(base, {name: _timed(one) for name, one in own.items()})


def _timed(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def check_in_time(*arguments: Any) -> Any:
        if time.thread_time() > _ends_at.get():
            raise _TooSlow
        return keyword(*arguments)

    return check_in_time


def _check_text(_validator: Any, pattern: str, text: Any, _schema: Any) -> Iterator[Exception]:
    if isinstance(text, str) and not _matcher(pattern).isinstance_python(text):
        yield _error(f"{text!r} does not match {pattern!r}")


def _check_unique(_validator: Any, unique: Any, items: Any, _schema: Any) -> Iterator[Exception]:
    if unique and isinstance(items, list):
        seen = {msgspec.json.encode(item, order="deterministic") for item in items}
        if len(seen) < len(items):
            yield _error(f"{items!r} has non-unique elements")


def _error(message: str) -> Exception:
    import jsonschema  # noqa: PLC0415 - loaded when used

    error: Exception = jsonschema.ValidationError(message)
    return error


def _is_linear(pattern: str) -> bool:
    from pydantic_core import SchemaError  # noqa: PLC0415 - loaded when used

    try:
        _matcher(pattern)
    except SchemaError:
        return False
    return True


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> Any:
    from pydantic_core import SchemaValidator, core_schema  # noqa: PLC0415 - loaded when used

    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


def _without_dialects(schema: Any) -> Any:
    """Remove keywords that would switch to another validator inside a schema."""
    if isinstance(schema, dict):
        return {k: _without_dialects(part) for k, part in schema.items() if k != "$schema"}
    return [_without_dialects(part) for part in schema] if isinstance(schema, list) else schema


def _members(schema: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the members of all objects in a schema."""
    if isinstance(schema, dict):
        yield from schema.items()
        schema = list(schema.values())
    if isinstance(schema, list):
        for value in schema:
            yield from _members(value)
