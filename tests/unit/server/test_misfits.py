"""Values that do not fit are told in words that help."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec
import pytest
from msgspec import UNSET, UnsetType, field

from holdfast.server.views.fields import Body
from holdfast.server.views.invalid import misfit


class Colour(StrEnum):
    """Some words."""

    RED = "red"
    BLUE = "blue"


class Part(Body):
    """A body in a body."""

    side: Literal["left", "right"] = "left"
    colour: Colour | None = None


class Whole(Body):
    """A body with all that can be in one."""

    name: str
    parts: list[Part] = field(default_factory=list)
    by_name: dict[str, Part] = field(default_factory=dict)
    part: Part | UnsetType = UNSET
    start: Literal["first", "end"] | Part = "first"


@pytest.mark.parametrize(
    ("body", "name", "problem"),
    [
        ({}, "name", "is missing"),
        ({"name": "n", "nam": 1}, "nam", "is not a known field"),
        ({"name": "n", "parts": [{"sid": 1}]}, "parts[0].sid", "is not a known field"),
        ({"name": "n", "parts": [{"side": "up"}]}, "parts[0].side", "must be one of left, right"),
        ({"name": "n", "part": {"colour": "Red"}}, "part.colour", "must be one of blue, red"),
        (
            {"name": "n", "by_name": {"a.b": {"side": ""}}},
            "by_name[...].side",
            "must be one of left, right",
        ),
        ({"name": "n", "start": "middle"}, "start", "must be one of end, first"),
        ({"name": "n", "start": {"side": 1}}, "start.side", "Expected `str`, got `int`"),
        ([], "body", "Expected `object`, got `array`"),
    ],
)
def test_a_misfit_names_its_field_and_what_would_fit(body: Any, name: str, problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(body, Whole)
    error = misfit(caught.value, Whole, "body")
    assert (error.context["field"], error.message) == (name, f"{name}: {problem}")
