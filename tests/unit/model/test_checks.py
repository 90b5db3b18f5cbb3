"""model.checks: every validator refuses what is wrong and names the field."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds, checks

Check = Callable[[str, Any], Any]


def _text(field: str, value: Any) -> str:
    return checks.text(field, value, 8)


def _text_not_empty(field: str, value: Any) -> str:
    return checks.text(field, value, 8, empty=False)


def _integer(field: str, value: Any) -> int:
    return checks.integer(field, value, -5, 5)


def _number(field: str, value: Any) -> float:
    return checks.number(field, value, 0, 5)


def _one_of(field: str, value: Any) -> str:
    return checks.one_of(field, value, ("red", "green"))


def _payload(field: str, value: Any) -> bytes:
    return checks.payload(field, value, 4)


def _names(field: str, value: Any) -> tuple[str, ...]:
    return checks.names(field, value, 2, least=1)


CONTROL = ["a\nb", "a\0b", "\x1f", "a\x7f", "tail\n"]
NOT_TEXT = [None, 1, 1.5, True, b"bytes", ["a"], {"a": 1}]
NOT_NAME = ["", "a b", "a,b", "a|b", "a=b", "{a}", "ä", "a\u2028", *CONTROL, *NOT_TEXT]

REFUSED: list[tuple[Check, list[Any]]] = [
    (checks.name, [*NOT_NAME, "a/b", "a~b", "x" * (bounds.NAME_CHARS + 1)]),
    (checks.queue, [*NOT_NAME, "a/b/c", "/a", "a/", "default/a", "a/" + "x" * 129, "a~b"]),
    (checks.kind, [*NOT_NAME, "a~b", "x" * (bounds.NAME_CHARS + 1)]),
    (
        checks.execution_id,
        [
            *(value for value in NOT_NAME if value != "a=b"),
            *("x" * (bounds.ID_CHARS + 1), "default=a", "a=", "=a", "a/b=c", "a=b=c"),
        ],
    ),
    (_text, [*NOT_TEXT, *CONTROL, "x" * 9, "\ud800"]),
    (_text_not_empty, ["", *NOT_TEXT]),
    (_integer, [True, False, 1.0, "1", None, math.nan, math.inf, -6, 6, b"1"]),
    (_number, [True, "1", None, math.nan, math.inf, -math.inf, -0.1, 5.1, 10**400]),
    (_one_of, ["blue", "", None, 1, True, b"red", ["red"], "RED"]),
    (checks.flag, [1, 0, "true", None]),
    (checks.instant, [datetime(2026, 1, 1), "2026-01-01", 1, None, UTC]),  # noqa: DTZ001
    (_payload, ["text", bytearray(b"a"), memoryview(b"a"), None, 1, b"12345"]),
    (_names, ["ab", b"ab", {"a": 1}, None, 5, [], ["a", "b", "c"]]),
    (checks.tags, [None, [("a", "b")], "ab", {f"t{n}": "v" for n in range(bounds.TAGS + 1)}]),
]


@pytest.mark.parametrize(
    ("check", "value"),
    [pytest.param(c, v, id=f"{c.__name__}-{i}") for c, vs in REFUSED for i, v in enumerate(vs)],
)
def test_a_bad_value_is_refused_by_an_error_that_names_the_field(check: Check, value: Any) -> None:
    """Wrong types, sizes, characters and ranges are all InvalidInput."""
    with pytest.raises(InvalidInput) as refused:
        check("the_field", value)
    assert refused.value.context["field"] == "the_field"
    assert str(refused.value).startswith("the_field: ")


ACCEPTED: list[tuple[Check, Any, Any]] = [
    (checks.name, "A-z_0.9:@", "A-z_0.9:@"),
    (checks.name, "x" * bounds.NAME_CHARS, "x" * bounds.NAME_CHARS),
    (checks.queue, "acme/mail", "acme/mail"),
    (checks.queue, "mail", "mail"),
    (checks.kind, "mail/send-v1.2", "mail/send-v1.2"),
    (checks.execution_id, "root~child/1", "root~child/1"),
    (checks.execution_id, "x" * bounds.ID_CHARS, "x" * bounds.ID_CHARS),
    (_text, "", ""),
    (_text, "käse 🧀", "käse 🧀"),
    (_integer, -5, -5),
    (_integer, 5, 5),
    (_number, 0, 0),
    (_number, 5, 5),
    (_number, 2.5, 2.5),
    (_one_of, "green", "green"),
    (checks.flag, False, False),
    (checks.instant, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
    (_payload, b"1234", b"1234"),
    (_payload, b"", b""),
    (_names, ["b", "a", "b"], ("a", "b")),
    (_names, {"b"}, ("b",)),
    (_names, (n for n in ("b", "a")), ("a", "b")),
    (checks.tags, {}, {}),
    (checks.tags, {"team": "käse = fein|er"}, {"team": "käse = fein|er"}),
]


@pytest.mark.parametrize(("check", "value", "expected"), ACCEPTED)
def test_a_good_value_is_returned_as_it_is(check: Check, value: Any, expected: Any) -> None:
    """Values at the bounds are accepted; only sets of names are put in order."""
    assert check("the_field", value) == expected


@pytest.mark.parametrize("bad", [None, 42, "", "a,b", "a\nb", True, ["gpu"]])
def test_a_bad_name_in_a_list_is_named_by_its_position(bad: Any) -> None:
    """One bad element refuses the whole list; none is dropped."""
    with pytest.raises(InvalidInput) as refused:
        checks.names("requires", ["gpu", bad], 10)
    assert refused.value.context["field"] == "requires[1]"


@pytest.mark.parametrize("bad", [None, 1, "", "a\nb", "x" * (bounds.TAG_VALUE_CHARS + 1)])
def test_a_bad_tag_value_is_named_by_its_tag(bad: Any) -> None:
    """The error says which of the tags is wrong."""
    with pytest.raises(InvalidInput) as refused:
        checks.tags("tags", {"fine": "1", "team": bad})
    assert refused.value.context["field"] == "tags[team]"


@pytest.mark.parametrize("bad", [1, "", "a b", "a=b", "x" * (bounds.NAME_CHARS + 1)])
def test_a_bad_tag_name_is_refused(bad: Any) -> None:
    """The whole name is checked, not its beginning."""
    with pytest.raises(InvalidInput) as refused:
        checks.tags("tags", {bad: "1"})
    assert refused.value.context["field"] == "tags name"


def test_an_unknown_field_is_refused_by_its_full_name() -> None:
    """A typing error must not be ignored."""
    with pytest.raises(InvalidInput) as refused:
        checks.known_fields("execution", {"kind": "a", "knd": "b"}, ("kind",))
    assert refused.value.context["field"] == "execution.knd"


def test_known_fields_pass() -> None:
    """Fields that exist are no problem, absent ones neither."""
    checks.known_fields("execution", {"kind": "a"}, ("kind", "lane"))


def test_too_large_says_the_limit_and_is_invalid_input() -> None:
    """A caller can shorten the payload by what the error says."""
    with pytest.raises(TooLarge) as refused:
        checks.payload("input", b"x" * 11, 10)
    assert refused.value.context == {"field": "input", "limit": 10}
    assert isinstance(refused.value, InvalidInput)


def test_a_long_value_is_shortened_in_the_message() -> None:
    """An error must not repeat a megabyte."""
    with pytest.raises(InvalidInput) as refused:
        checks.name("lane", "x" * 100_000)
    assert len(str(refused.value)) < 200
