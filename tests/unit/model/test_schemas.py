"""JSON Schema of payloads."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from holdfast.errors import InvalidInput, InvalidPayload, TooLarge
from holdfast.model import bounds, schemas

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: A pattern that takes for ever where one tries all ways.
SLOW = {"$schema": DIALECT, "items": {}, "allOf": [{"pattern": "^(a+)+b$"}]}


def fits(schema: Any, payload: Any) -> None:
    schemas.check(schemas.encode("schema", schema), payload)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, 1, "1"),
        ({"enum": ["yes", "no"]}, "yes", "maybe"),
        ({"required": ["a"]}, {"a": 1}, {"b": 1}),
        ({"type": "array", "items": {"type": "string"}}, ["a"], ["a", 1]),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}, 1, None),
        ({"pattern": "^[a-z]+$"}, "abc", "ABC"),
        ({"uniqueItems": True}, [1, {"a": 1}, {"a": 2}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]),
        ({"multipleOf": 0.5}, 1.5, 1.3),
        ({"minimum": 3}, 10**400, 2),
        (True, {"any": "thing"}, None),
        (False, None, 1),
    ],
)
def test_what_fits_and_what_does_not(schema: Any, good: Any, bad: Any) -> None:
    """The schema decides."""
    if schema is not False:
        fits(schema, good)
    if schema is not True:
        with pytest.raises(InvalidPayload):
            fits(schema, bad)


def test_the_place_is_named() -> None:
    """And what is wrong with it, shortened."""
    schema = {"properties": {"a": {"items": {"type": "integer"}}}}
    with pytest.raises(InvalidPayload) as raised:
        fits(schema, {"a": [1, "x" * 10_000]})
    assert raised.value.context == {"field": "payload.a.1"}
    assert raised.value.code == "invalid_payload"
    assert len(raised.value.message) < 600


@pytest.mark.parametrize(
    "schema",
    [
        *(None, 5, "string", [], b"{}"),
        {"type": "nothing"},
        {"required": "a"},
        {"pattern": "("},
        {"pattern": "(?=a)"},
        {"pattern": "a{0,4294967295}"},
        {"properties": {"a": {"pattern": r"(a)\1"}}},
        {"patternProperties": {"a": True}},
        {"properties": {"a": 5}},
        {"x": object()},
        {"$ref": "https://example.com/schema.json"},
        {"properties": {"a": {"$ref": "other.json"}}},
        {"allOf": [{"$dynamicRef": "https://example.com/x#y"}]},
        {"$ref": 5},
    ],
)
def test_what_is_not_a_schema_of_its_own_is_refused(schema: Any) -> None:
    """It may refer to its own parts only: nothing is ever fetched."""
    with pytest.raises(InvalidInput) as raised:
        schemas.encode("schema", schema)
    assert raised.value.context["field"] == "schema"


def test_a_schema_that_is_too_large() -> None:
    """It is stored with each waitpoint."""
    with pytest.raises(TooLarge):
        schemas.encode("schema", {"title": "x" * bounds.SCHEMA_BYTES})


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        ({"$ref": "#/nowhere"}, 1),
        ({"$ref": "#anchor"}, 1),
        ({"$ref": "#"}, 1),
        ({"$ref": "#/x", "x": 5}, 1),
        ({"$ref": "#/required", "required": ["a"]}, 1),
        ({"multipleOf": 0.1}, 10**400),
        ({"multipleOf": 0.1}, -(10**400)),
        ({"properties": {"a": {"$ref": "#"}}}, None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_nothing_but_a_refusal_comes_out_of_a_check(schema: Any, payload: Any) -> None:
    """Whatever the schema and the payload: the payload fits, the schema or it is refused."""
    with contextlib.suppress(InvalidInput):
        fits(schema, payload)


def test_deep_payloads() -> None:
    """They are checked, or refused."""
    schema = {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}
    payload: Any = []
    for _ in range(900):
        payload = [payload]
    with contextlib.suppress(InvalidPayload):
        fits(schema, payload)


def _doubled(levels: int) -> dict[str, Any]:
    """Return a schema whose check takes 2 ** levels steps."""
    defs: dict[str, Any] = {"0": {"type": "integer"}}
    for level in range(levels):
        defs[str(level + 1)] = {"allOf": [{"$ref": f"#/$defs/{level}"}] * 2}
    return {"$defs": defs, "$ref": f"#/$defs/{levels}"}


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 60_000 + "b"),
        (
            {"$schema": DIALECT, "not": {"not": {"$ref": "#/$defs/a"}}, "$defs": {"a": SLOW}},
            "a" * 60,
        ),
        ({"uniqueItems": True}, [*range(15_000), *"abc", 1]),
        (_doubled(40), 1),
    ],
    ids=["pattern", "dialect", "unique", "doubled"],
)
def test_a_check_takes_no_longer_than_it_may(schema: Any, payload: Any) -> None:
    """Whoever made the schema: others are served by the same process."""
    started = time.thread_time()
    with pytest.raises(InvalidPayload):
        fits(schema, payload)
    assert time.thread_time() - started < 5 * schemas.CHECK_S


def test_loading_the_library_takes_nothing_of_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first check of a process refuses what all others refuse."""
    made = schemas._validator

    def slow(schema: bytes) -> Any:
        until = time.thread_time() + 1.5 * schemas.CHECK_S
        while time.thread_time() < until:
            pass
        return made(schema)

    monkeypatch.setattr(schemas, "_validator", slow)
    problem = schemas.misfit(b'{"required": ["n"]}', "input", {})
    assert problem is not None
    assert problem.context["field"] == "input.n"


def test_what_the_schema_of_a_model_says_too_much_is_left_out() -> None:
    """Such as pydantic's pattern of a Decimal, which looks ahead."""
    decimal = {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}
    code = {"type": "string", "pattern": "^[A-Z]+$"}
    schema = {"items": [{"anyOf": [decimal, code]}], "patternProperties": {"^a": {}}}
    expected = {"items": [{"anyOf": [{"type": "string"}, code]}]}
    assert schemas.checkable(schema) == expected
