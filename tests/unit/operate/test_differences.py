"""Differences of two values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.operate import differences

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", "changed", 1, 2)]),
        ({"a": [1, 2]}, {"a": [1]}, [("a.1", "removed", 2, None)]),
        ({}, {"a": {"b": None}}, [("a", "added", None, {"b": None})]),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 0}}, [("a.c", "added", None, 0)]),
        ({"a": True}, {"a": 1}, [("a", "changed", True, 1)]),
        ("x", ["x"], [("", "changed", "x", ["x"])]),
    ],
)
def test_every_place_that_differs_is_named(before: Any, after: Any, found: list[Any]) -> None:
    """Keys by name, items by position; what is the same is left out."""
    items = differences.of(before, after).items
    assert [(".".join(one.path), one.change, one.before, one.after) for one in items] == found


def test_many_differences_are_counted() -> None:
    """The first ones are listed."""
    found = differences.of(list(range(1_000)), [])
    assert (len(found.items), found.total) == (differences.MOST, 1_000)


@given(JSON, JSON)
def test_the_other_way_round_is_the_opposite(one: Any, other: Any) -> None:
    """What was added is removed; nothing differs from itself."""
    there, back = differences.of(one, other), differences.of(other, one)
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    assert {(each.path, turned[each.change]) for each in there.items} == {
        (each.path, each.change) for each in back.items
    }
    assert differences.of(one, one).total == 0
