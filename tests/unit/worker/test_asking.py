"""Answers to questions: what counts as one, and what is said about the others."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from holdfast.errors import InvalidInput
from holdfast.worker.asking import Expected, Options, Unfit, is_silent
from holdfast.worker.messages import Button, ChatMessage

OPTIONS = {"s": "Small one", "m": "Medium", "10": "Ten", "2": "Two"}


class Size(Enum):
    """Sizes."""

    SMALL = "s"
    LARGE = "l"


class Point(BaseModel):
    """The data of a form."""

    x: int
    y: int = 0


def message(text: str = "", kind: str = "message", **payload: Any) -> ChatMessage:
    """Return a message from a user."""
    given = {"text": text, **payload} if text else payload
    return ChatMessage(5, datetime(2026, 1, 1, tzinfo=UTC), "m1", kind, given)


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (str, " as it is ", "as it is"),
        (int, " 12 ", 12),
        (int, "-3", -3),
        (float, "1.5", 1.5),
        (Decimal, "1.10", Decimal("1.10")),
        (bool, "Yes", True),
        (bool, "off", False),
        (date, "2026-11-15", date(2026, 11, 15)),
        (Literal["red", "Blue"], "BLUE", "Blue"),
        (Literal[1, 2], "2", 2),
        (Size, "S", Size.SMALL),
        (Size, "large", Size.LARGE),
        (int | None, "4", 4),
    ],
)
def test_text_becomes_a_value_of_the_type(hint: Any, text: str, value: Any) -> None:
    """As pydantic reads it; names of options in any case."""
    found = Expected(hint).read(message(text), set())
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("hint", "text", "said"),
    [
        (str, "  ", "Please answer with some text."),
        (int, "two", "Please answer with a whole number."),
        (int, "1.5", "Please answer with a whole number."),
        (float, "x", "Please answer with a number."),
        (bool, "maybe", "Please answer with yes or no."),
        (Literal["red", "Blue"], "green", "Please answer with one of: red, Blue."),
        (Size, "xl", "Please answer with one of: s, l."),
        (Point, "1, 2", r"That does not fit \(Input should be .*\). Please try again."),
    ],
)
def test_an_unfit_answer_is_told_what_would_fit(hint: Any, text: str, said: str) -> None:
    """In words for the user, not for the programmer."""
    with pytest.raises(Unfit, match=f"^{said}$"):
        Expected(hint).read(message(text), set())


def test_the_data_of_a_form_is_validated() -> None:
    """Whatever text comes with it."""
    assert Expected(Point).read(message("sent", data={"x": "1"}), {4}) == Point(x=1)
    with pytest.raises(Unfit, match="x: Field required"):
        Expected(Point).read(message(data={}), set())


def test_a_pressed_button_answers_a_question_by_its_value() -> None:
    """Only those of its own replies, if the press says to which one it belongs."""
    assert Expected(int).read(message("ten", choice="10", reply=4), {4}) == 10
    assert Expected(int).read(message(choice="10"), {4}) == 10
    with pytest.raises(Unfit, match="earlier question"):
        Expected(int).read(message(choice="10", reply=3), {4})


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (message("small one"), "s"),
        (message("S"), "s"),
        (message(" Medium. "), "m"),
        (message("1"), "s"),
        (message("3"), "10"),
        (message("2"), "2"),
        (message("10"), "10"),
        (message(choice="m"), "m"),
        (message("small one", choice="m", reply=4), "m"),
    ],
)
def test_an_option_is_found(given: ChatMessage, value: str) -> None:
    """By its value or label first, then by its number; a button by its value only."""
    assert Options(OPTIONS).read(given, {4}) == value


@pytest.mark.parametrize(
    "given",
    [
        message("large"),
        message("5"),
        message("0"),
        message(),
        message(choice="Medium"),
        message(choice="1"),
        message("s", choice="x"),
    ],
)
def test_other_answers_name_the_options(given: ChatMessage) -> None:
    """A button's value is never read as a number or a label."""
    with pytest.raises(Unfit, match=r"^Please choose one of: Small one, Medium, Ten, Two\.$"):
        Options(OPTIONS).read(given, {4})


def test_options_are_values_or_buttons() -> None:
    """They differ, and there is at least one."""
    assert Options(["a", Button("B", "b")]).read(message("b"), set()) == "b"
    wrongs: list[Any] = [[], {}, ["a", "a"], [""], [str(n) for n in range(21)]]
    for wrong in wrongs:
        with pytest.raises(InvalidInput):
            Options(wrong)


def test_an_event_without_content_is_no_answer() -> None:
    """Such as one that says that the user types."""
    assert is_silent(message(kind="event", name="typing"))
    assert not is_silent(message(kind="event", choice="a"))
    assert not is_silent(message("x", kind="event"))
    assert not is_silent(message())


def test_a_type_without_json_is_refused() -> None:
    """An author sees it at the first question."""
    with pytest.raises(InvalidInput, match="no JSON form"):
        Expected(object())


def test_a_question_for_an_object_has_a_form() -> None:
    """Other answers are written as text, or chosen."""
    form = Expected(Point).form
    assert form is not None
    assert (list(form["properties"]), form["required"]) == (["x", "y"], ["x"])
    for hint in (str, int, date, Size, Literal["a", "b"], list[int]):
        assert Expected(hint).form is None
