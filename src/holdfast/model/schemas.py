"""JSON Schema: what a waitpoint accepts as payload."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from holdfast.errors import InvalidPayload
from holdfast.model import checks, limits


def encode(field: str, schema: Any) -> bytes:
    """Check a schema and return it as JSON. It may only refer to itself."""
    if not isinstance(schema, dict | bool):
        checks.refuse(field, "must be a JSON Schema: an object or a boolean", schema)
    import jsonschema  # noqa: PLC0415 - loaded when used

    try:
        encoded = msgspec.json.encode(schema)
        jsonschema.Draft202012Validator.check_schema(schema)
    except (TypeError, ValueError, RecursionError, jsonschema.SchemaError) as error:
        checks.refuse(field, f"is not a JSON Schema ({str(error).splitlines()[0][:200]})", schema)
    for reference in _references(schema):
        if not isinstance(reference, str) or not reference.startswith("#"):
            checks.refuse(field, "may only refer to its own parts (`#...`)", reference)
    return checks.payload(field, encoded, limits.SCHEMA_BYTES)


def check(schema: bytes, payload: Any) -> None:
    """Raise InvalidPayload unless a decoded payload fits."""
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - loaded when used

    try:
        problem = next(iter(_validator(schema).iter_errors(payload)), None)
    except (Unresolvable, RecursionError, ArithmeticError, TypeError, AttributeError) as error:
        # A schema that refers to something that is none, or numbers beyond all bounds.
        message = f"payload: cannot be checked ({type(error).__name__})"
        raise InvalidPayload(message, field="payload") from error
    if problem is not None:
        field = ".".join(["payload", *map(str, problem.absolute_path)])
        raise InvalidPayload(f"{field}: {problem.message[:500]}", field=field)


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    import jsonschema  # noqa: PLC0415 - loaded when used
    from referencing import Registry  # noqa: PLC0415

    # An empty registry: nothing is ever fetched.
    return jsonschema.Draft202012Validator(msgspec.json.decode(schema), registry=Registry())


def _references(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name in {"$ref", "$dynamicRef"}:
                yield value
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
