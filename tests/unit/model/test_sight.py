"""Redaction rules: which payloads they are about, and what is left."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.model.sight import REDACTED, RedactionRule, paths_for, redacted, redacted_bytes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=20,
)
PATH = st.lists(st.sampled_from(["a", "b", "*", "**"]), max_size=3).map(lambda way: (*way, "a"))


def _redacted(value: object, *paths: str) -> object:
    data = redacted_bytes(json.dumps(value).encode(), [tuple(p.split(".")) for p in paths])
    return json.loads(data)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a", {"a": 1, "b": 2}, {"a": REDACTED, "b": 2}),
        ("a.b", {"a": {"b": [1], "c": 2}}, {"a": {"b": REDACTED, "c": 2}}),
        ("a.b", {"a": 7}, {"a": 7}),
        ("items.*.price", {"items": [{"price": 1}, 2]}, {"items": [{"price": REDACTED}, 2]}),
        ("*", {"a": 1, "b": None}, {"a": REDACTED, "b": REDACTED}),
        ("*", [1, 2], [REDACTED, REDACTED]),
        (
            "**.pin",
            {"pin": 1, "x": [{"pin": {"pin": 2}}]},
            {"pin": REDACTED, "x": [{"pin": REDACTED}]},
        ),
        ("a", "text", "text"),
    ],
)
def test_a_path_names_a_part(path: str, before: object, after: object) -> None:
    """What the path does not name stays."""
    assert _redacted(before, path) == after


def test_the_rest_keeps_its_digits() -> None:
    """Numbers that no path names are copied as they were written, however long."""
    data = b'{"n": 123456789012345678901234567890, "f": 1.10, "s": "x"}'
    assert redacted_bytes(data, [("s",)]) == (
        b'{"n":123456789012345678901234567890,"f":1.10,"s":"[redacted]"}'
    )


def test_what_is_not_json_has_no_parts() -> None:
    """Bytes stay as they are."""
    assert redacted_bytes(b"\xff{a", [("a",)]) == b"\xff{a"


@given(JSON, st.lists(PATH, max_size=3))
def test_redacting_twice_changes_nothing_more(value: object, paths: list[tuple[str, ...]]) -> None:
    """And without paths, nothing changes."""
    once = redacted_bytes(json.dumps(value).encode(), paths)
    assert json.loads(redacted_bytes(once, paths)) == json.loads(once)
    assert redacted(value, ()) is value
    if ("**", "a") in paths:
        assert all(part.get("a", REDACTED) == REDACTED for part in _objects(json.loads(once)))


def _objects(value: object) -> list[dict[str, object]]:
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in _objects(item))]
    return []


def test_a_rule_is_about_its_tenant_and_tasks() -> None:
    """A payload whose tenant or task is not known may have the part, so it is redacted."""
    rules = [
        RedactionRule(path="a", kind="mail.*", tenant="acme"),
        RedactionRule(path="b", kind="mail.send"),
    ]
    assert paths_for(rules, "acme", "mail.read") == (("a",),)
    assert paths_for(rules, "other", "mail.send") == (("b",),)
    assert paths_for(rules, "other", "fax") == ()
    assert paths_for(rules, None, None) == (("a",), ("b",))


@pytest.mark.parametrize(
    "fields",
    [
        {"path": ""},
        {"path": "a..b"},
        {"path": "a b"},
        {"path": "a.**"},
        {"path": "a", "kind": "no kind"},
        {"path": "a", "tenant": "no tenant"},
    ],
)
def test_a_rule_that_means_nothing_is_refused(fields: dict[str, str]) -> None:
    """With the field that is wrong."""
    with pytest.raises(InvalidInput):
        RedactionRule(**fields)
