"""The HTTP contract: what each operation takes, requires and gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from holdfast.server.http import openapi
from holdfast.server.routes import TABLES

Contract = dict[str, dict[str, list[str]]]

_DEPTH = 6


def contract() -> Contract:
    """Return the fields of each operation; names in paths may change, so they are left out."""
    document = openapi.document(TABLES)
    return {
        f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}": _operation(document, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def _operation(document: Any, operation: Any) -> dict[str, list[str]]:
    asked = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    takes = {f"?{one['name']}" for one in asked}
    requires = {f"?{one['name']}" for one in asked if one.get("required")}
    gives: set[str] = set()
    for schema in _schemas(operation.get("requestBody", {})):
        takes |= set(_fields(document, schema))
        requires |= set(_resolved(document, schema).get("required", ()))
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            gives.add(status)
            for schema in _schemas(answer):
                gives |= set(_fields(document, schema))
    return {"takes": sorted(takes), "requires": sorted(requires), "gives": sorted(gives)}


def _schemas(part: Any) -> Iterator[Any]:
    for content in part.get("content", {}).values():
        yield content.get("schema", {})


def _resolved(document: Any, schema: Any) -> Any:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _fields(document: Any, schema: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths of the fields of a schema, such as `items[].id`."""
    schema = _resolved(document, schema)
    if depth == _DEPTH:
        return
    for name, field in schema.get("properties", {}).items():
        yield f"{path}{name}"
        yield from _fields(document, field, f"{path}{name}.", depth + 1)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _fields(document, choice, path, depth + 1)
    if isinstance(schema.get("items"), dict):
        yield from _fields(document, schema["items"], f"{path.rstrip('.')}[].", depth + 1)
