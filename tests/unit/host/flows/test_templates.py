from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from holdfast.host.flows.expressions import ExpressionFailed, MissingPath
from holdfast.host.flows.syntax import SyntaxProblem
from holdfast.host.flows.templates import parse_text

SCOPE: dict[str, Any] = {"input": {"n": 3, "list": [1], "none": None, "on": True}, "user": {}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ input.n }}", 3),
        ("{{input.list}}", [1]),
        ("{{ input.none }}", None),
        (" {{ input.n }}", " 3"),
        ("a {{ input.n }} b {{ input.list }}", "a 3 b [1]"),
        ("{{ input.on }}!", "true!"),
        ("[{{ input.none }}]", "[]"),
        ("{{ user.name | default('there') }}", "there"),
        ("{{ user.name | default(input.n) }}", 3),
        ("{{ input.n | default(0) }}", 3),
        ("{{ input.none | default(1) }}", None),
        ("{{ {'a': {'b': 1}} }}", {"a": {"b": 1}}),
        ("{{ '}}' }}", "}}"),
        ("{{ input.n == 3 || false }}", True),
        ("plain", "plain"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("", ""),
    ],
)
def test_a_text_has_a_value(text: str, value: Any) -> None:
    """A text that is one template keeps the type of its value; others are text."""
    found = parse_text(text).evaluate(SCOPE)
    assert found == value
    assert type(found) is type(value)


def test_a_missing_path_needs_a_default() -> None:
    """Without a default, a path that does not exist is an error."""
    with pytest.raises(MissingPath):
        parse_text("Hello {{ user.name }}").evaluate(SCOPE)


def test_a_default_does_not_hide_other_failures() -> None:
    """A default replaces a path that does not exist, and no other failure."""
    with pytest.raises(ExpressionFailed):
        parse_text("{{ 1 / 0 | default(1) }}").evaluate(SCOPE)


def test_the_text_is_bounded() -> None:
    """A text that grows beyond the bound is an error."""
    text = "{{ input.x }}" * 100
    with pytest.raises(ExpressionFailed, match="more than"):
        parse_text(text).evaluate({"input": {"x": "x" * 10_000}})


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("a {{ b", "bad_template", 2),
        ("a }}", "bad_template", 2),
        ("{{ }}", "bad_template", 2),
        ("{{ a | upper }}", "bad_filter", 5),
        ("{{ a | default }}", "bad_filter", 5),
        ("{{ a + }}", "bad_expression", 6),
        ("{{ a | default(1 +) }}", "bad_expression", 18),
        ("x {{ foo(1) }}", "unknown_function", 5),
    ],
)
def test_a_broken_template_says_where(text: str, code: str, offset: int) -> None:
    """Problems have a code and the offset in the text."""
    with pytest.raises(SyntaxProblem) as caught:
        parse_text(text)
    assert (caught.value.code, caught.value.offset) == (code, offset)


def test_a_text_is_given_up_as_soon_as_it_is_too_long() -> None:
    """A file has room for templates that would fill the memory together."""
    text = parse_text("{{ big }}" * 10_000)
    tracemalloc.start()
    try:
        with pytest.raises(ExpressionFailed, match="more than"):
            text.text({"big": ["x" * 60_000]})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10_000_000
