"""The OpenAPI 3.1 document, made from the routes."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import msgspec

from holdfast import errors
from holdfast.errors import HoldfastError
from holdfast.server.http import problems, repeating
from holdfast.server.http.declare import CHANGING, Route, Routes, Scope
from holdfast.server.views import descriptions
from holdfast.server.views.fields import View

_REF = "#/components/schemas/{name}"
_EMPTY = 204
_JSON = "application/json"

#: Refusals of routes with a body, and of routes that need a key.
_OF_BODIES = (errors.Malformed, errors.TooLarge)
_OF_KEYS = (
    errors.Unauthorized,
    errors.Forbidden,
    errors.RateLimited,
    errors.StoreUnavailable,
    errors.PayloadUnreadable,
)


class Problem(View):
    """Why a call failed (RFC 9457). Further members have ids and values."""

    type: str
    title: str
    status: int
    detail: str
    #: The stable code of the error.
    code: str
    #: Whether the same call may succeed later.
    retryable: bool


def document(tables: Sequence[Routes]) -> dict[str, Any]:
    """Return the document."""
    routes = [route for table in tables for route in table.routes]
    types = [t for route in routes for t in (route.documented, route.reply, route.query) if t]
    (*schemas, problem), components = msgspec.json.schema_components(
        [*types, Problem], ref_template=_REF
    )
    _describe(components)
    remaining = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        body = next(remaining) if route.documented else None
        reply = next(remaining) if route.reply else None
        query = next(remaining) if route.query else None
        operation = _operation(route, body, reply, problem)
        operation["parameters"] = [
            *_path_parameters(route),
            *_query_parameters(query, components),
            *([_TENANT] if route.owner is not None else []),
            *([repeating.PARAMETER] if route.takes_key else []),
        ]
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    used = {name: schema for name, schema in components.items() if not name.endswith("Query")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Holdfast",
            "version": version("holdfast"),
            "description": "Durable execution: accepted work is kept until it is done.",
        },
        "tags": [{"name": table.tag, "description": table.about} for table in tables],
        "paths": paths,
        "components": {
            "schemas": used,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _describe(components: dict[str, Any]) -> None:
    for struct, fields in descriptions.by_struct().items():
        properties = components.get(struct, {}).get("properties", {})
        for field in fields.keys() & properties.keys():
            properties[field]["description"] = fields[field]


def refusals(route: Route) -> list[type[HoldfastError]]:
    """Return every error that a route can return."""
    kinds: list[type[HoldfastError]] = [errors.InvalidInput, *route.errors]
    if route.reads_body:
        kinds += _OF_BODIES
    if route.scope is not Scope.PUBLIC:
        kinds += _OF_KEYS
    # If leases can be kept outside the store, errors of the store are BackendFailed.
    is_change = route.audit is not None and route.method != "GET" and route.changes_store
    if is_change and errors.BackendFailed not in route.errors:
        kinds += CHANGING
    if route.owner is not None:
        kinds.append(type(route.owner.missing("")))
    return kinds


def _operation(
    route: Route, body: dict[str, Any] | None, reply: dict[str, Any] | None, problem: Any
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "responses": _responses(route, reply, problem),
    }
    about = [route.description] if route.description else []
    if route.scope is not Scope.PUBLIC:
        who = "Any key" if "viewer" in route.roles else f"Role: {' or '.join(route.roles)}"
        about.append(who + (", of no tenant." if route.scope is Scope.SYSTEM else "."))
    else:
        operation["security"] = []
    operation["description"] = "\n\n".join(about)
    if body is not None:
        content: dict[str, Any] = {"schema": body if route.accepts == _JSON else _BINARY}
        if route.example is not None:
            content["example"] = route.example
        optional = route.accepts == _JSON and not _required(route.documented)
        operation["requestBody"] = {
            "required": not optional,
            "content": {route.accepts: content},
        }
    return operation


#: A body that is not JSON.
_BINARY = {"type": "string", "format": "binary"}


def _required(body: Any) -> bool:
    """Whether a body has a field that must be there."""
    if isinstance(body, type) and issubclass(body, msgspec.Struct):
        return any(field.required for field in msgspec.structs.fields(body))
    return False


def _responses(route: Route, reply: dict[str, Any] | None, problem: Any) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status in route.statuses:
        response: dict[str, Any] = {"description": "Success."}
        content: dict[str, Any] = {} if status == _EMPTY else {route.media_type: {}}
        if reply is not None:
            content[_JSON] = {"schema": reply}
            if status == route.statuses[0] and (example := example_of(route)) is not None:
                content[_JSON]["example"] = example
        if content:
            response["content"] = content
        responses[str(status)] = response
    by_status: dict[int, set[str]] = {}
    for error in refusals(route):
        by_status.setdefault(route.status_of(error), set()).add(error.code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = {
            "description": ", ".join(f"`{code}`" for code in sorted(codes)),
            "content": {problems.MEDIA_TYPE: {"schema": {"allOf": [problem, _only(codes)]}}},
        }
    return responses


def example_of(route: Route) -> Any:
    """Return a recorded answer of a server; tests/server/record_examples.py records them."""
    return _examples().get(f"{route.method} {route.path}")


@functools.cache
def _examples() -> dict[str, Any]:
    data = files("holdfast.server.http").joinpath("examples.json").read_bytes()
    found: dict[str, Any] = msgspec.json.decode(data)
    return found


def _only(codes: set[str]) -> dict[str, Any]:
    """Return the schema of problems that have one of these codes."""
    return {"properties": {"code": {"enum": sorted(codes)}}}


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]


#: The object in a path may have the same id in several tenants.
_TENANT = {
    "name": "tenant",
    "in": "query",
    "required": False,
    "description": "The tenant of the object, for a key without a tenant; `default` if absent.",
    "schema": {"type": "string", "minLength": 1},
}


def _query_parameters(
    query: dict[str, Any] | None, components: dict[str, Any]
) -> list[dict[str, Any]]:
    # A route that takes any query documents none.
    if query is None or "$ref" not in query:
        return []
    schema = components[query["$ref"].rsplit("/", 1)[1]]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": _without_null(field),
        }
        for name, field in schema["properties"].items()
    ]


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter: absent is not null."""
    options = [option for option in field.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) != 1:
        return field
    (option,) = options
    plain = {key: value for key, value in field.items() if key not in {"anyOf", "default"}}
    return {**plain, **option}
