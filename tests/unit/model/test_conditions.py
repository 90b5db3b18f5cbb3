"""Conditions, without a store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.errors import InvalidCondition, InvalidInput
from holdfast.model import bounds, conditions
from holdfast.model.conditions import After, Condition, Group, Leaf, Seen, is_named
from holdfast.model.moments import to_ms

POINTS = ("a", "b", "c")
NOW = 1_000_000


def parse(value: Any) -> Condition:
    return conditions.parse(value, POINTS)


def holds(value: Any, *signals: Seen, now: int = NOW, began: int = 0) -> bool:
    return conditions.holds(parse(value), signals, now, began)


def at(waitpoint: str, name: str = "go", by: str = "", payload: Any = None) -> Seen:
    return Seen(waitpoint=waitpoint, name=name, payload=payload, source=("user", by))


# Every form


def test_a_signal_at_a_waitpoint() -> None:
    """Of any name, but there."""
    assert holds({"waitpoint": "a"}, at("a"))
    assert not holds({"waitpoint": "a"}, at("b"))
    assert not holds({"waitpoint": "a"})


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        ((), "x", True),
        (("x",), "x", True),
        (("x",), "xy", False),
        (("x*",), "x", True),
        (("x*",), "xy", True),
        (("x*",), "yx", False),
        (("*",), "anything", True),
        (("y", "x*"), "xy", True),
        (("x.*",), "xy", False),
    ],
)
def test_names(names: tuple[str, ...], name: str, expected: bool) -> None:
    """A star at the end stands for the rest; nothing else is special."""
    assert is_named(names, name) is expected
    leaf = Leaf(waitpoint="a", names=names)
    assert conditions.holds(leaf, [at("a", name)], NOW) is expected


def test_an_expression() -> None:
    """It sees the payload, the name and the source; one that cannot be evaluated is false."""
    condition = {"waitpoint": "a", "where": "payload.n > 1 && source.identity == 'ann'"}
    assert holds(condition, at("a", by="ann", payload={"n": 2}))
    assert not holds(condition, at("a", by="bob", payload={"n": 2}))
    assert not holds(condition, at("a", by="ann", payload={"n": 1}))
    assert not holds(condition, at("a", by="ann", payload="text"))


def test_all() -> None:
    """Each one."""
    condition = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    assert not holds(condition, at("a"), at("a"))
    assert holds(condition, at("b"), at("a"))


def test_any() -> None:
    """One of them."""
    condition = {"any": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    assert not holds(condition, at("c"))
    assert holds(condition, at("b"))


def test_count_of_conditions() -> None:
    """How many of them hold, not how many signals there are."""
    condition = {"count": 2, "of": [{"waitpoint": name} for name in POINTS]}
    assert not holds(condition, at("a"), at("a"))
    assert holds(condition, at("a"), at("c"))


def test_count_of_signals() -> None:
    """Different ones; one that two parts want is one."""
    condition = {
        "count": 2,
        "distinct": "signals",
        "of": [{"waitpoint": "a"}, {"waitpoint": "a", "signal": "go"}],
    }
    assert not holds(condition, at("a"))
    assert holds(condition, at("a"), at("a", "other"))


def test_count_of_sources() -> None:
    """Two approvals of one person are one."""
    condition = {"count": 2, "distinct": "sources", "of": [{"waitpoint": "a"}]}
    assert not holds(condition, at("a", by="ann"), at("a", "again", by="ann"))
    assert holds(condition, at("a", by="ann"), at("a", by="bob"))


def test_count_of_waitpoints() -> None:
    """Two answers at one place are one."""
    condition = {
        "count": 2,
        "distinct": "waitpoints",
        "of": [{"waitpoint": name} for name in POINTS],
    }
    assert not holds(condition, at("a", by="x"), at("a", by="y"))
    assert holds(condition, at("a"), at("b"))


def test_a_count_is_over_the_conditions_that_hold() -> None:
    """What came to a part that does not hold yet is not counted."""
    condition = {
        "count": 2,
        "distinct": "sources",
        "of": [{"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}, {"waitpoint": "c"}],
    }
    assert not holds(condition, at("a", by="x"), at("c", by="y"))
    assert holds(condition, at("a", by="x"), at("b", by="x"), at("c", by="y"))


def test_a_moment_and_a_span() -> None:
    """From their millisecond on."""
    moment = datetime(2026, 12, 1, 8, tzinfo=UTC)
    at_ms = to_ms(moment)
    for value in (moment, "2026-12-01T08:00:00Z", "2026-12-01T09:00:00+01:00"):
        assert not holds({"not_before": value}, now=at_ms - 1)
        assert holds({"not_before": value}, now=at_ms)
    assert not holds({"after_ms": 50}, now=149, began=100)
    assert holds({"after_ms": 50}, now=150, began=100)
    assert holds({"after_ms": 0}, now=100, began=100)


def test_nested() -> None:
    """(a and after) or two sources at c."""
    condition = {
        "any": [
            {"all": [{"waitpoint": "a"}, {"after_ms": 100}]},
            {"count": 2, "distinct": "sources", "of": [{"waitpoint": "c"}]},
        ]
    }
    assert not holds(condition, at("a"), now=99)
    assert holds(condition, at("a"), now=100)
    assert not holds(condition, at("c", by="x"), now=100)
    assert holds(condition, at("c", by="x"), at("c", by="y"), now=0)


# To and from the store


CONDITION = {
    "all": [
        {"waitpoint": "b", "signal": ["x", "y*"], "where": "payload == 1"},
        {"any": [{"waitpoint": "a"}, {"not_before": "2026-12-01T08:00:00Z"}]},
        {"count": 2, "of": [{"waitpoint": name} for name in POINTS]},
        {"count": 2, "distinct": "sources", "of": [{"waitpoint": "c"}]},
    ]
}


def test_the_store_gets_a_tree_with_numbered_leaves() -> None:
    """In the order in which `leaves` returns them."""
    condition = parse(CONDITION)
    tree = conditions.encode(condition, {"a": 1, "b": 2, "c": 3})
    assert tree["of"][0] == {
        "op": "leaf",
        "leaf": 1,
        "at": 2,
        "names": ["x", "y*"],
        "where": "payload == 1",
    }
    assert tree["of"][3] == {
        "op": "count",
        "n": 2,
        "by": "sources",
        "of": [{"op": "leaf", "leaf": 6, "at": 3}],
    }
    found = [leaf.waitpoint for leaf in conditions.leaves(condition)]
    assert found == ["b", "a", "a", "b", "c", "c"]


def test_what_is_packed_can_be_unpacked() -> None:
    """The store gives back what it got."""
    condition = parse(CONDITION)
    tree = conditions.encode(condition, {"a": 1, "b": 2, "c": 3})
    assert conditions.decode(tree, POINTS) == condition


def test_a_span_is_packed_as_it_is() -> None:
    """The store makes a moment of it, by its own clock."""
    assert conditions.encode(After(span_ms=5), {}) == {"op": "after", "span": 5}


@pytest.mark.parametrize(
    ("condition", "signals", "said"),
    [
        ({"waitpoint": "a"}, [at("a")], ""),
        ({"waitpoint": "a"}, [], "a signal at a"),
        ({"waitpoint": "a", "signal": ["x", "y"]}, [], "signal x or y at a"),
        ({"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}, [at("a")], "a signal at b"),
        (
            {"any": [{"waitpoint": "a"}, {"waitpoint": "b"}]},
            [],
            "a signal at a or a signal at b",
        ),
        ({"not_before": datetime(2100, 1, 1, tzinfo=UTC)}, [], "a later time"),
        (
            {"count": 2, "distinct": "sources", "of": [{"waitpoint": "a"}]},
            [at("a")],
            "1 more of 2 different sources",
        ),
        (
            {"count": 2, "of": [{"waitpoint": name} for name in POINTS]},
            [],
            "2 more of 2 of the conditions",
        ),
    ],
)
def test_what_is_missing_is_put_into_words(condition: Any, signals: list[Seen], said: str) -> None:
    """For people who ask why it waits."""
    assert conditions.missing(parse(condition), signals, NOW) == said


@pytest.mark.parametrize(
    ("least", "answerers", "approved", "said"),
    [
        (2, ("ann", "ben", "cid"), (), "approval by 2 more of ann, ben, cid at a"),
        (2, ("ann", "ben", "cid"), ("ann",), "approval by 1 more of ben, cid at a"),
        (2, ("ann", "ben"), ("ann",), "approval by ben at a"),
        (1, ("ann", "ben"), (), "approval by one of ann, ben at a"),
        (1, (), (), "approval by one person at a"),
        (3, (), (), "approval by 3 people at a"),
        (3, (), ("ann",), "approval by 2 more people at a"),
        (2, (), ("ann",), "approval by one more person at a"),
    ],
)
def test_an_approval_says_how_many_more_and_who(
    least: int, answerers: tuple[str, ...], approved: tuple[str, ...], said: str
) -> None:
    """That a denial would end it goes without saying."""
    asked = {"waitpoint": "a", "signal": "approve"}
    enough = {"count": least, "distinct": "sources", "of": [asked]}
    condition = parse({"any": [enough, {"waitpoint": "a", "signal": "deny"}]})
    seen = [Seen(waitpoint="a", name="approve", source=("user", name)) for name in approved]
    assert conditions.missing(condition, seen, NOW, {"a": answerers}) == said


# What is refused


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "condition"),
        ([], "condition"),
        ("a", "condition"),
        ({}, "condition"),
        ({"every": []}, "condition"),
        ({"waitpoint": "a", "all": []}, "condition"),
        ({"waitpoint": "z"}, "condition.waitpoint"),
        ({"waitpoint": 1}, "condition.waitpoint"),
        ({"waitpoint": ["a"]}, "condition.waitpoint"),
        ({"waitpoint": "a", "signals": "x"}, "condition.signals"),
        ({"waitpoint": "a", "signal": ["x"] * 65}, "condition.signal"),
        ({"waitpoint": "a", "where": ""}, "condition.where"),
        ({"waitpoint": "a", "where": "payload >"}, "condition.where"),
        ({"waitpoint": "a", "where": "secret == 1"}, "condition.where"),
        ({"all": []}, "condition.all"),
        ({"all": {"waitpoint": "a"}}, "condition.all"),
        ({"any": "a"}, "condition.any"),
        ({"all": [{"waitpoint": "a"}], "of": []}, "condition.of"),
        ({"all": [{"waitpoint": "a"}, {"waitpoint": "z"}]}, "condition.all[1].waitpoint"),
        ({"count": 1}, "condition.of"),
        ({"count": 0, "of": [{"waitpoint": "a"}]}, "condition.count"),
        ({"count": True, "of": [{"waitpoint": "a"}]}, "condition.count"),
        ({"count": 1.0, "of": [{"waitpoint": "a"}]}, "condition.count"),
        ({"count": "1", "of": [{"waitpoint": "a"}]}, "condition.count"),
        ({"count": 2, "of": [{"waitpoint": "a"}]}, "condition.count"),
        (
            {"count": 2, "distinct": "waitpoints", "of": [{"waitpoint": "a"}, {"waitpoint": "a"}]},
            "condition.count",
        ),
        ({"count": 10_001, "distinct": "signals", "of": [{"waitpoint": "a"}]}, "condition.count"),
        ({"count": 1, "distinct": "names", "of": [{"waitpoint": "a"}]}, "condition.distinct"),
        ({"count": 1, "distinct": ["x"], "of": [{"waitpoint": "a"}]}, "condition.distinct"),
        ({"not_before": "tomorrow"}, "condition.not_before"),
        ({1: 2, "waitpoint": "a"}, "condition.1"),
    ],
)
def test_what_is_not_a_condition_is_refused(value: Any, field: str) -> None:
    """With the place where it is wrong."""
    with pytest.raises(InvalidCondition) as raised:
        parse(value)
    assert raised.value.context == {"field": field}
    assert raised.value.code == "invalid_condition"
    assert raised.value.message.startswith(f"{field}: ")


@pytest.mark.parametrize(
    "value",
    [
        {"waitpoint": "a", "signal": ""},
        {"waitpoint": "a", "signal": 5},
        {"waitpoint": "a", "signal": "x*y"},
        {"waitpoint": "a", "signal": "two words"},
        {"waitpoint": "a", "signal": ["x", None]},
        {"not_before": "2026-12-01T08:00:00"},
        {"not_before": 5},
        {"after_ms": -1},
        {"after_ms": 1.5},
        {"after_ms": True},
        {"after_ms": bounds.DURATION_MS + 1},
    ],
)
def test_values_in_conditions_are_checked(value: Any) -> None:
    """Like everywhere else."""
    with pytest.raises(InvalidInput):
        parse(value)


def test_depth_and_size_are_bounded() -> None:
    """The largest ones are accepted."""
    deep: Any = {"waitpoint": "a"}
    for _ in range(bounds.CONDITION_DEPTH - 1):
        deep = {"all": [deep]}
    parse(deep)
    with pytest.raises(InvalidCondition, match="nested deeper"):
        parse({"all": [deep]})
    many = [{"waitpoint": "a"}] * (bounds.CONDITION_NODES - 1)
    assert isinstance(parse({"any": many}), Group)
    with pytest.raises(InvalidCondition, match="more than"):
        parse({"any": [*many, {"waitpoint": "a"}]})


def test_moments_at_the_ends_of_time() -> None:
    """No moment that can be written breaks the check."""
    for text in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"):
        assert isinstance(parse({"not_before": text}), After)
