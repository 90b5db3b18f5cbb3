"""The JSON Schema of test files, made from what their reader knows."""

from __future__ import annotations

from typing import Any

from holdfast.host.flows.schema import DRAFT
from holdfast.host.packs.fields import NAME
from holdfast.host.simulator.reader import SIBLINGS
from holdfast.host.simulator.script import DEFAULT_USER, FAKED, Status

SCHEMA_ID = "urn:holdfast:test"

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_NAME: dict[str, Any] = {"type": "string", "pattern": f"^{NAME.pattern}$"}
_DURATION: dict[str, Any] = {"type": "string", "pattern": "^[0-9]{1,9}(ms|s|m|h|d)$"}
_TARGETS = {
    "call": "COMPONENT.OPERATION",
    "llm": "The model, as pack.yaml names it.",
    "http": "METHOD URL, such as `GET https://api.example.org/orders`.",
    "provider": "TYPE.OPERATION of a provider.",
}
#: The steps of a test.
VERBS: dict[str, tuple[dict[str, Any], str]] = {
    "say": (_TEXT, "A user writes this."),
    "click": (_TEXT, "A user presses a button, by its value or its label."),
    "form": ({"type": "object"}, "A user fills in a form; this is its data."),
    "event": ({"type": "object"}, "An event arrives with this payload."),
    "run": ({}, "A flow without a conversation runs with this input."),
    "expect": ({"$ref": "#/$defs/lines"}, "The replies since the last `expect`."),
    "advance": (_DURATION, "Time passes, such as 2d."),
    "approve": (_TEXT, "A person approves; the name of the `approval` node."),
    "deny": (_TEXT, "A person denies; the name of the `approval` node."),
    "fake": ({"$ref": "#/$defs/fakes"}, "Fakes from here on, before those that there are."),
    "called": ({"$ref": "#/$defs/called"}, "How often something was called so far."),
    "result": ({}, "The flow has ended with this result."),
    "status": ({"enum": [*map(str, Status)]}, "What the flow does now."),
    "state": ({"type": "object"}, "Values of the session's state."),
}
_SIBLINGS: dict[str, tuple[dict[str, Any], str]] = {
    "user": (_TEXT, "Whose conversation it is."),
    "by": (_TEXT, "Who decides."),
    "data": ({}, "What comes with the decision."),
}


def script_schema() -> dict[str, Any]:
    """Return the schema of a test file."""
    return {
        "$schema": DRAFT,
        "$id": SCHEMA_ID,
        "title": "Holdfast tests of a pack",
        "type": "object",
        "required": ["tests"],
        "additionalProperties": False,
        "properties": {
            "flow": {**_NAME, "description": "The flow to start; by default the pack's entry."},
            "user": {**_TEXT, "default": DEFAULT_USER, "description": "Who talks."},
            "fake": {"$ref": "#/$defs/fakes", "description": "Fakes of all tests of the file."},
            "tests": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"$ref": "#/$defs/step"}},
                "description": "Scripts by name: lists of steps.",
            },
        },
        "$defs": {
            "step": {"oneOf": [_step(verb) for verb in SIBLINGS]},
            "lines": _one_or_more(_line()),
            "fakes": _one_or_more(_fake()),
            "called": _called(),
        },
    }


def _described(part: tuple[dict[str, Any], str]) -> dict[str, Any]:
    schema, words = part
    return {**schema, "description": words}


def _step(verb: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [verb],
        "additionalProperties": False,
        "properties": {
            verb: _described(VERBS[verb]),
            **{key: _described(_SIBLINGS[key]) for key in SIBLINGS[verb]},
        },
    }


def _one_or_more(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


def _line() -> dict[str, Any]:
    parts = {
        "text": {**_TEXT, "description": "The whole text."},
        "contains": {**_TEXT, "description": "A part of the text."},
        "matches": {**_TEXT, "format": "regex", "description": "A pattern in the text."},
        "buttons": {"type": "array", "description": "Its buttons, by label or value."},
        "card": {"description": "What its card contains."},
        "data": {"description": "What its data contains."},
    }
    whole = {"type": "object", "minProperties": 1, "additionalProperties": False}
    return {"anyOf": [_TEXT, {**whole, "properties": parts}]}


def _target() -> dict[str, Any]:
    targets = {kind.value: {**_TEXT, "description": _TARGETS[kind.value]} for kind in FAKED}
    return {**targets, "with": {"description": "What the input contains; by default anything."}}


def _one_of(*keys: str) -> dict[str, Any]:
    return {"oneOf": [{"required": [key]} for key in keys]}


def _fake() -> dict[str, Any]:
    failure = {
        "type": "object",
        "required": ["code"],
        "additionalProperties": False,
        "properties": {"code": _NAME, "message": _TEXT, "retryable": {"type": "boolean"}},
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **_target(),
            "returns": {"description": "The answer."},
            "fails": {"anyOf": [_NAME, failure], "description": "A failure: its code, or more."},
            "times": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "description": "How many calls it answers; by default all.",
            },
        },
        "allOf": [_one_of(*(kind.value for kind in FAKED)), _one_of("returns", "fails")],
    }


def _called() -> dict[str, Any]:
    times = {"type": "integer", "minimum": 0, "maximum": 1000, "default": 1}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {**_target(), "times": {**times, "description": "How often."}},
        **_one_of(*(kind.value for kind in FAKED)),
    }
