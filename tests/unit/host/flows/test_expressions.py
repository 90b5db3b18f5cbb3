from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.host.flows.expressions import (
    ExpressionFailed,
    MissingPath,
    compile_expression,
)
from holdfast.host.flows.syntax import SyntaxProblem, parse

SCOPE: dict[str, Any] = {
    "input": {"text": "Order", "n": 3, "list": [{"a": 1}, {"a": 2}], "none": None},
    "vars": {"name": " Ada "},
    "now": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("input.text", "Order"),
        ("input['text']", "Order"),
        ("input.list[1].a", 2),
        ("input.none", None),
        ("input", SCOPE["input"]),
        ("now", "2026-01-02T03:04:05Z"),
        ("now + duration('2d')", "2026-01-04T03:04:05Z"),
        ("now - timestamp('2026-01-01T03:04:05Z')", "86400s"),
        ("duration('1h30m') > duration('1h')", True),
        ("now - duration('1w') < now", True),
        ("size(input.text) + size(input.list)", 7),
        ("input.text.contains('der')", True),
        ("input.text.startsWith('Or')", True),
        ("input.text.matches('^[A-Z]')", True),
        ("lower(input.text) + input.text.upper()", "orderORDER"),
        ("trim(vars.name)", "Ada"),
        ("split('a,b', ',').join('-')", "a-b"),
        ("json(input.list)", '[{"a":1},{"a":2}]'),
        ("input.list.map(item, item.a)", [1, 2]),
        ("input.list.exists(item, item.a == input.n - 1)", True),
        ("has(input.nope)", False),
        ("input.n > 2 ? 'many' : 'few'", "many"),
        ("{'a': [1, 2.5, true, null]}", {"a": [1, 2.5, True, None]}),
    ],
)
def test_an_expression_has_a_value(text: str, value: Any) -> None:
    """Expressions are CEL, with the functions of the flow language."""
    assert compile_expression(text).evaluate(SCOPE) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input.nope", "input has no `nope`"),
        ("input.nope == 1", "input has no `nope`"),
        ("input.list[2]", "has 2 items"),
        ("input.none.x", "is null"),
        ("input.text.x", "is text"),
        ("nope.x", "there is no `nope`"),
    ],
)
def test_a_missing_path_is_an_error(text: str, words: str) -> None:
    """A path that does not exist raises an error that says which part is missing."""
    with pytest.raises(MissingPath, match=words):
        compile_expression(text).evaluate(SCOPE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input.n.lower()", "lower takes text, not a number"),
        ("duration('soon')", "duration takes text such as"),
        ("1 / 0", "division by zero"),
        ("1 + input.text", "No such overload"),
        ("{1: 2}", "keys of a map must be text"),
        ("input.text.matches('(')", "regex"),
    ],
)
def test_a_failure_says_why(text: str, words: str, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be evaluated raises an error with the reason, and logs nothing."""
    with caplog.at_level(logging.WARNING), pytest.raises(ExpressionFailed, match=words) as caught:
        compile_expression(text).evaluate(SCOPE)
    assert not isinstance(caught.value, MissingPath)


def test_a_condition_is_true_or_false() -> None:
    """A condition that is neither true nor false fails."""
    assert compile_expression("input.n == 3").holds(SCOPE)
    with pytest.raises(ExpressionFailed, match="neither true nor false"):
        compile_expression("input.text").holds(SCOPE)


def test_walks_over_large_lists_are_refused() -> None:
    """An expression whose cost is the product of two lists is refused before it runs."""
    large = {"a": list(range(10_000)), "b": list(range(10_000))}
    with pytest.raises(ExpressionFailed, match="too much work"):
        compile_expression("input.a.exists(x, x in input.b)").evaluate({"input": large})
    assert compile_expression("input.a.exists(x, x == 9999)").evaluate({"input": large})


@pytest.mark.parametrize(
    "text",
    ["(" * 25 + "1" + ")" * 25, "1 +" * 400 + "1", "x" * 3_000, "a" + ".b" * 30, "!" * 100 + "a"],
)
def test_large_expressions_are_refused(text: str) -> None:
    """The size and the depth of an expression are bounded."""
    with pytest.raises(SyntaxProblem):
        compile_expression(text)


@pytest.mark.parametrize("text", ["type(1)", "dyn(1)", "optional.none()", "__import__('os')"])
def test_only_listed_functions_can_be_called(text: str) -> None:
    """Functions that the flow language does not list are refused."""
    with pytest.raises(SyntaxProblem, match="there is no function"):
        compile_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "a ? b : c ? d : e", "x.as", "-x.y", "!!x", "a[1].b", "'a\\n\\u00e9'", "a\n.b", "[1, 2,]",
        "{'a': 1,}", "1 == 1 == 1", "a in b", ".5", "0x1F", "1e3", "r'\\d'", "'''a'b'''", "1 -1",
    ],
)  # fmt: skip
def test_the_parser_reads_what_the_library_reads(text: str) -> None:
    """Our tree and the library agree about what CEL is."""
    parse(text)
    compile_expression(text)


@pytest.mark.parametrize(
    "text", ["", " ", "a.in", "as", "f(1,)", "()", "1.", "a.true", "if", "a b", "[1", "a.map(x)"]
)
def test_the_parser_refuses_what_the_library_refuses(text: str) -> None:
    """What is not CEL is refused."""
    with pytest.raises(SyntaxProblem):
        compile_expression(text)
