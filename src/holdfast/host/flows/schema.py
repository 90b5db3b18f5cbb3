"""The JSON Schema of flow files, made from the dataclasses of the model."""

from __future__ import annotations

from typing import Any

from holdfast.host.flows.fields import Declared, Of, declarations
from holdfast.host.flows.model import (
    ACTIONS,
    ID,
    ID_CHARS,
    NODE_ID,
    FlowType,
    Limits,
    NodeKind,
    Retry,
    Var,
)

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_ID = "urn:holdfast:flow"

_TEXT: dict[str, Any] = {"type": "string"}
_NAME: dict[str, Any] = {"type": "string", "minLength": 1}
_CONDITION: dict[str, Any] = {"type": ["string", "boolean"]}
_ACTIVITY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {**_TEXT, "description": "What the user reads."},
        "card": {"description": "A card, as the channel shows it."},
        "data": {"description": "Data for the program that shows the reply."},
    },
    "anyOf": [{"required": [key]} for key in ("text", "card", "data")],
}


def flow_schema() -> dict[str, Any]:
    """Return the schema of a flow file."""
    return {
        "$schema": DRAFT,
        "$id": SCHEMA_ID,
        "title": "Holdfast flow",
        "type": "object",
        "required": ["id", "nodes"],
        "additionalProperties": False,
        "properties": {
            "id": {
                "type": "string",
                "pattern": f"^{ID.pattern}$",
                "maxLength": ID_CHARS,
                "description": "The id of the flow, unique in the pack.",
            },
            "type": {
                "enum": [one.value for one in FlowType],
                "default": FlowType.MESSAGING.value,
                "description": "What starts the flow.",
            },
            "title": {**_TEXT, "description": "The name that people see."},
            "description": {**_TEXT, "description": "What the flow is for."},
            "internal": {"type": "boolean", "description": "Whether only other flows start it."},
            "start": {**_NAME, "description": "The first node; by default the first in the file."},
            "input": {**_schema(), "description": "The JSON Schema of the input."},
            "vars": {
                "type": "object",
                "propertyNames": {"pattern": f"^{NODE_ID.pattern}$"},
                "additionalProperties": _object(declarations(Var)),
                "description": "Session variables.",
            },
            "limits": {**_object(declarations(Limits)), "description": "Bounds of one turn."},
            "nodes": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": f"^{NODE_ID.pattern}$", "not": {"const": "end"}},
                "additionalProperties": {"$ref": "#/$defs/node"},
            },
        },
        "$defs": {"node": _node(), "routes": _routes(), "work": _work()},
    }


def _node() -> dict[str, Any]:
    kinds = {kind.value: _kind(kind) for kind in NodeKind}
    others = [kind for kind in kinds if kind != NodeKind.SET]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **kinds,
            "out": {"$ref": "#/$defs/routes"},
            "when": {**_CONDITION, "description": "The node is skipped if this is false."},
            "retry": {**_object(declarations(Retry)), "description": "How to try again."},
            "timeout": {**_duration(), "description": "How long an attempt may take."},
            "on_error": {**_NAME, "description": "The node that follows a failure."},
        },
        # `set` is a kind, or beside another one what variables get from the output.
        "oneOf": [
            *({"required": [kind]} for kind in others),
            {
                "required": [NodeKind.SET.value],
                "not": {"anyOf": [{"required": [kind]} for kind in others]},
            },
        ],
    }


def _kind(kind: NodeKind) -> dict[str, Any]:
    about = str(ACTIONS[kind].__doc__).splitlines()[0]
    if kind is NodeKind.EMIT:
        some = {"type": "array", "items": _ACTIVITY, "minItems": 1}
        return {"description": about, "anyOf": [_ACTIVITY, some]}
    if kind is NodeKind.SET:
        names = {"pattern": f"^{NODE_ID.pattern}$"}
        return {"description": about, "type": "object", "propertyNames": names}
    schema = _object(declarations(ACTIONS[kind]))
    if kind in {NodeKind.WAIT, NodeKind.END}:
        schema["type"] = ["object", "null"]
    return {"description": about, **schema}


def _routes() -> dict[str, Any]:
    route = {
        "type": "object",
        "required": ["to"],
        "additionalProperties": False,
        "properties": {"when": _CONDITION, "to": _NAME},
    }
    return {
        "description": "Where the flow continues: a node, `end`, or routes tried in order.",
        "anyOf": [_NAME, {"type": "array", "items": route, "minItems": 1}],
    }


def _work() -> dict[str, Any]:
    kinds = (NodeKind.CALL, NodeKind.FLOW)
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {kind.value: _object(declarations(ACTIONS[kind])) for kind in kinds},
    }


def _object(declared: dict[str, Declared]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"description": field.about, **_field(field)} for name, field in declared.items()
        },
    }
    required = [name for name, field in declared.items() if field.required]
    return {**schema, "required": required} if required else schema


def _field(field: Declared) -> dict[str, Any]:
    if field.choices:
        return {"enum": list(field.choices)}
    if field.of is Of.INTEGER:
        return {"type": "integer", "minimum": field.low, "maximum": field.high}
    shapes: dict[Of, dict[str, Any]] = {
        Of.TEXT: _TEXT,
        Of.VALUE: {},
        Of.FLAG: {"type": "boolean"},
        Of.DURATION: _duration(),
        Of.SCHEMA: _schema(),
        Of.TOOLS: {"type": "array", "items": {"type": "string", "pattern": r"^.+\.[^.]+$"}},
        Of.HEADERS: {"type": "object", "additionalProperties": _header()},
        Of.TEXTS: {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]},
        Of.BRANCHES: {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 64,
            "additionalProperties": {"$ref": "#/$defs/work"},
        },
        Of.WORK: {"$ref": "#/$defs/work"},
    }
    return shapes.get(field.of, _NAME)


def _header() -> dict[str, Any]:
    secret = {
        "type": "object",
        "required": ["secret"],
        "additionalProperties": False,
        "properties": {"secret": _NAME},
    }
    return {"anyOf": [_TEXT, secret]}


def _duration() -> dict[str, Any]:
    return {"type": ["string", "number"], "examples": ["30s", "10m", "2d"]}


def _schema() -> dict[str, Any]:
    return {"type": ["object", "boolean"]}
