"""Views that are made from the dataclasses of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec
import pytest

from holdfast.server.auth import shown
from holdfast.server.views import descriptions
from holdfast.server.views.derive import ModelView


class Colour(StrEnum):
    """A word."""

    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A value of the model."""

    id: str
    version: int
    colour: Colour
    made_at: datetime
    #: None: it is still there.
    gone_at: datetime | None = None
    counts: Mapping[Colour, int] = field(default_factory=dict)
    secret: str = ""


class ThingView(
    ModelView, model=Thing, hide=("secret",), rename={"version": "revision"}, own=("id",)
):
    """A thing."""


class LongThingView(ThingView):
    """A thing with more."""

    size: int


NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
THING = Thing(id="acme=x", version=2, colour=Colour.RED, made_at=NOW, counts={Colour.RED: 1})
SHOWN: dict[str, Any] = {
    "id": "acme=x",
    "revision": 2,
    "colour": "red",
    "made_at": "2026-01-31T09:30:00.000Z",
    "gone_at": None,
    "counts": {"red": 1},
}


def test_a_view_has_the_fields_of_its_model() -> None:
    """In their order, with times and words as text."""
    assert msgspec.json.decode(msgspec.json.encode(ThingView.of(THING))) == SHOWN
    assert ThingView.__struct_fields__ == tuple(SHOWN)


def test_a_view_that_extends_another_adds_fields() -> None:
    """They come after those of the model."""
    view = LongThingView.copy(THING, size=3)
    assert msgspec.json.decode(msgspec.json.encode(view)) == {**SHOWN, "size": 3}


def test_ids_are_shown_as_the_caller_knows_them() -> None:
    """Those of its own tenant without the tenant."""
    shown.show_to("acme")
    try:
        assert msgspec.to_builtins(ThingView.of(THING))["id"] == "x"
    finally:
        shown.show_to(None)


def test_texts_show_ids_as_the_caller_knows_them() -> None:
    """Only where an id begins: other words may end as the caller's tenant does."""
    shown.show_to("t")
    try:
        text = "t=a waits for 't=b' (t=c~1), not for next=t, my-t=d or limit=5"
        assert shown.text(text) == "a waits for 'b' (c~1), not for next=t, my-t=d or limit=5"
    finally:
        shown.show_to(None)


def test_the_schema_has_the_types_of_json() -> None:
    """Every field is required: a view always shows all."""
    schema = msgspec.json.schema(ThingView)["$defs"]["ThingView"]
    assert schema["required"] == list(SHOWN)
    assert schema["properties"]["gone_at"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert schema["properties"]["counts"]["additionalProperties"] == {"type": "integer"}


@pytest.mark.parametrize(("field_name", "text"), [("tenant", "null: all."), ("busy", "Slots in")])
def test_descriptions_are_those_of_the_model(field_name: str, text: str) -> None:
    """In the words of JSON."""
    import holdfast.server.routes  # noqa: F401, PLC0415

    assert text in descriptions.by_struct()["WorkerView"][field_name]
