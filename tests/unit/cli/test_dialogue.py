"""A conversation on a terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from holdfast.cli.terminal.dialogue import Screen, lines_of
from holdfast.model.sessions import Direction, Entry
from holdfast.operate.live_session import ReplyPart

AT = datetime(2026, 1, 1, tzinfo=UTC)
BUTTONS = [{"label": "Yes, please", "value": "yes"}, {"label": "No", "value": "no"}]


def entry(
    number: int, direction: Direction = "out", author: str | None = None, **value: Any
) -> Entry:
    payload = msgspec.json.encode(value)
    return Entry(number=number, at=AT, direction=direction, payload=payload, author=author)


def part(text: str, start: int, number: int = 2) -> ReplyPart:
    return ReplyPart(number=number, text=text, start=start)


def test_a_line_shows_everything_that_a_reply_has() -> None:
    """Text on several lines, a card, data, and buttons with numbers."""
    shown = lines_of(entry(1, text="a\nb", card={"x": 1}, data=[2], buttons=BUTTONS), "bot")
    assert shown == [
        "bot: a",
        "b",
        '  [card] {"x":1}',
        "  [data] [2]",
        "  1  Yes, please",
        "  2  No",
    ]


def test_messages_without_text_show_what_they_have() -> None:
    """The button that was pressed, or the payload."""
    assert lines_of(entry(1, "in", choice="yes"), "you") == ["you: yes"]
    assert lines_of(entry(1, "in", data={"a": 1}), "you") == ['you: {"data":{"a":1}}']


def test_replies_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether they come as a whole or in parts."""
    screen = Screen("bot", is_terminal=True)
    screen.show(entry(1, text="\x1b[31mred"))
    screen.show_part(part("\x1b[2J\n", 0))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("parts", [("Once ", "upon"), ("Once ",), ("Once upon",)])
def test_a_streamed_reply_is_shown_once(
    capsys: pytest.CaptureFixture[str], parts: tuple[str, ...]
) -> None:
    """Its parts, then what of the whole text was not shown yet."""
    screen = Screen("bot", is_terminal=False)
    start = 0
    for text in parts:
        screen.show_part(part(text, start))
        start += len(text)
    screen.show(entry(2, text="Once upon", buttons=BUTTONS))
    assert capsys.readouterr().out == "bot: Once upon\n  1  Yes, please\n  2  No\n"


def test_a_reply_that_begins_again_has_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After a crash the words may be others; parts whose start is missing are not shown."""
    screen = Screen("bot", is_terminal=False)
    screen.show_part(part("lost", 7))
    screen.show_part(part("One", 0))
    screen.show_part(part("Two", 0))
    screen.show(entry(2, text="Three"))
    assert capsys.readouterr().out == "bot: One\nbot: Two\nbot: Three\n"


def test_the_number_of_a_choice_presses_its_button(capsys: pytest.CaptureFixture[str]) -> None:
    """Only of the last reply; anything else is a text."""
    screen = Screen("bot", is_terminal=False)
    screen.show(entry(4, text="Refund it?", buttons=BUTTONS))
    assert screen.typed("3") == {"text": "3"}
    screen.show(entry(6, text="Refund it?", buttons=BUTTONS))
    assert screen.typed(" 1 ") == {"text": "Yes, please", "choice": "yes", "reply": 6}
    screen.show(entry(8, text="Thanks."))
    assert screen.typed("1") == {"text": "1"}
    assert capsys.readouterr().out.endswith("you: 1\n")


def test_what_comes_while_the_user_types_is_shown_above_the_prompt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The prompt follows again."""
    screen = Screen("bot", is_terminal=True)
    screen.prompt()
    screen.show(entry(3, author="bea", text="I am Bea."))
    assert capsys.readouterr().out == "you: \r\x1b[Kbea (a person): I am Bea.\nyou: "
