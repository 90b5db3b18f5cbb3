"""Keys, rosters and rules of pins."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.pins import Pin, PinKey, PinRules, Roster


def test_a_place_is_readable() -> None:
    """Plain names stay as they are; what separates parts is encoded."""
    place = PinKey("local", "01F8MECHZX3TBDSZ7XR8KZ9V8K", "a", "b:c").place()
    assert place is not None
    assert (place.scope, place.session) == ("local:01F8MECHZX3TBDSZ7XR8KZ9V8K:a", "b%3Ac")


def test_different_keys_have_different_places() -> None:
    """Whatever characters a tenant or a session has."""
    parts = ["", "a", "b", ":", "a:b", "a%3Ab", "%3A", "{é}"]
    keys = [PinKey(*key) for key in product(parts, repeat=4)]
    assert len({key.place() for key in keys}) == len(keys)


@pytest.mark.parametrize(
    ("generation", "since"),
    [
        (-1, {}),
        (1.0, {}),
        (10**12 + 1, {}),
        (1, {"a": 2}),
        (1, {"a": -1}),
        (1, {"a|b": 1}),
        (1, {"": 1}),
        (1, {f"r{n}": 1 for n in range(101)}),
    ],
)
def test_a_roster_is_checked(generation: Any, since: dict[str, int]) -> None:
    """No revision can have a name that breaks a stored pin."""
    with pytest.raises(InvalidInput):
        Roster(generation, since)


@pytest.mark.parametrize(
    ("pin", "holds", "is_behind"),
    [
        (Pin("a", 5), True, False),
        (Pin("a", 3), True, False),
        (Pin("a", 2), False, False),
        (Pin("b", 5), False, False),
        (Pin("a", 6), True, True),
        (Pin("b", 6), False, True),
    ],
)
def test_a_pin_holds_while_its_revision_has_taken_sessions_ever_since(
    pin: Pin, *, holds: bool, is_behind: bool
) -> None:
    """The roster is of generation 5 and has `a` since generation 3."""
    roster = Roster(5, {"a": 3})
    assert roster.holds(pin) is holds
    assert roster.is_behind(pin) is is_behind


@pytest.mark.parametrize(
    "fields",
    [
        *({"ttl_ms": value} for value in (0, -1, 30 * 86_400_000 + 1, 1.5, "1", True)),
        *({"cap": value} for value in (0, -1, 1_000_001, 1.5)),
        {"evict": 1},
    ],
)
def test_rules_are_checked(fields: dict[str, Any]) -> None:
    """Once, so that no call of a pin has to raise."""
    with pytest.raises(InvalidInput):
        PinRules(**fields)
