"""Expressions on payloads."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from holdfast.errors import InvalidCondition
from holdfast.model import bounds, expressions


def evaluate(text: str, payload: Any = None, **variables: Any) -> bool:
    known = {"payload": payload, "name": "go", "source": {"type": "user", "identity": "ann"}}
    return expressions.holds(expressions.check("where", text), {**known, **variables})


@pytest.mark.parametrize(
    ("text", "payload", "expected"),
    [
        ("payload == 1", 1, True),
        ("payload < 2.5", 2, True),
        ("payload.a.b == 'x'", {"a": {"b": "x"}}, True),
        ("payload['a b'] == true", {"a b": True}, True),
        ("payload[1] == 'y'", ["x", "y"], True),
        ("'x' in payload", ["x"], True),
        ("has(payload.a)", {"b": 1}, False),
        ("payload.exists(x, x > 2)", [1, 2, 3], True),
        ("payload.all(x, x > 2)", [1, 2, 3], False),
        ("payload.name.startsWith('A') && size(payload.name) > 2", {"name": "Ann"}, True),
        ("name == 'go' && source.identity == 'ann' && source.type == 'user'", None, True),
        ("payload == null", None, True),
    ],
)
def test_what_can_be_said(text: str, payload: Any, expected: bool) -> None:
    """The language is CEL."""
    assert evaluate(text, payload) is expected


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("payload.a == 1", {}),
        ("payload.a == 1", "text"),
        ("payload > 1", "text"),
        ("payload / 0 == 1", 1),
        ("payload[5] == 1", [1]),
        ("payload", 1),
        ("payload", "true"),
        ("payload.matches('(')", "x"),
        ("payload + 9223372036854775807 > 0", 1),
        ("payload == 1", 10**400),
        ("payload == 1", float("nan")),
    ],
)
def test_what_cannot_be_evaluated_does_not_hold(text: str, payload: Any) -> None:
    """Neither does what is not a boolean. Nothing is raised: the payload is from outside."""
    assert evaluate(text, payload) is False


@pytest.mark.parametrize(
    "text",
    [
        *("", None, 5, b"true", "payload ==", "payload = 1", "import os", "secret == 1", "\ud800"),
        "x" * (bounds.EXPRESSION_CHARS + 1),
        "payload.all(x, y)",
        "payload.all(x, payload.all(y, x < y))",
        "payload.map(x, payload.filter(y, true)).size() > 0",
        "(" * 400 + "1" + ")" * 400,
        "[" * 400 + "]" * 400,
    ],
)
def test_what_is_not_an_expression_is_refused(text: Any) -> None:
    """When the wait begins, not when a signal comes."""
    with pytest.raises(InvalidCondition) as raised:
        expressions.check("where", text)
    assert raised.value.context == {"field": "where"}


def test_the_longest_one() -> None:
    """The limit is on the characters."""
    text = "payload == 1".ljust(bounds.EXPRESSION_CHARS)
    assert expressions.check("where", text) == text


@pytest.mark.parametrize(
    "text", ["-" * 990 + "1 < 0", "1+" * 490 + "1 > 0", "true" + "||true" * 160]
)
def test_long_chains_do_no_harm(text: str) -> None:
    """They are evaluated or refused; nothing else happens."""
    with contextlib.suppress(InvalidCondition):
        assert evaluate(text) in (True, False)


@pytest.mark.parametrize(
    ("text", "size"),
    [("payload.exists(x, x + 1 in payload)", 6_000), ("payload.map(x, payload).size() < 0", 200)],
)
def test_the_cost_grows_with_the_payload_only(text: str, size: int) -> None:
    """Not with its square: such an expression is refused, or quick on a large payload."""
    try:
        expressions.check("where", text)
    except InvalidCondition:
        return
    start = time.thread_time()
    evaluate(text, [1] * size)
    assert time.thread_time() - start < 0.25
