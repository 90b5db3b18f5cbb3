"""References to limits, as the library reads and writes them."""

from __future__ import annotations

import pytest

from holdfast.model.limit_refs import LimitRef, encode_all, parse_all


@pytest.mark.parametrize(
    ("text", "limit", "name"),
    [
        ("b:llm", LimitRef("budget", "llm"), "llm"),
        ("b:root~llm", LimitRef("budget", "llm", "root"), "llm"),
        ("b:acme/root~acme/llm", LimitRef("budget", "acme/llm", "acme/root"), "acme/llm"),
        ("q:api", LimitRef("quota", "api"), "api"),
        ("q:api#eu", LimitRef("quota", "api", value="eu"), "api#eu"),
        ("q:api#", LimitRef("quota", "api", value=""), "api#"),
        ("q:api#a#b:c~d", LimitRef("quota", "api", value="a#b:c~d"), "api#a#b:c~d"),
    ],
)
def test_a_reference_is_read_and_written_alike(text: str, limit: LimitRef, name: str) -> None:
    """An empty value of a tag is a value."""
    assert LimitRef.parse(text) == limit
    assert (limit.encode(), limit.name) == (text, name)


def test_references_stand_one_per_line() -> None:
    """No limits are an empty text."""
    assert encode_all(parse_all("b:root~llm\nq:api#eu")) == "b:root~llm\nq:api#eu"
    assert parse_all("") == []


def test_a_root_has_no_other_root() -> None:
    """Ancestors have the root of their tree, and the root none."""
    child = LimitRef.budget("c", "root")
    assert child.ancestor("root") == LimitRef.budget("root", "root") == LimitRef("budget", "root")
    assert child.ancestor("b").encode() == "b:root~b"
    assert LimitRef("budget", "root").ancestor("c") == child
