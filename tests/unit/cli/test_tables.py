"""Tables: whole ids on narrow terminals, one line for a row in a pipe."""

from __future__ import annotations

from holdfast.cli.terminal import tables

ID = "01m7f9kp8mz6kj41te54"


def test_a_table_breaks_no_id_and_cuts_nothing() -> None:
    """Ids can be copied from a narrow terminal."""
    drawn = list(tables.lines(("id", "state", "note"), [(ID, "completed", "x" * 200)], 60))
    assert any(line.startswith(f"{ID}  completed") for line in drawn)
    assert sum(line.count("x") for line in drawn) == 200
    assert max(map(len, drawn)) <= 60


def test_columns_that_do_not_fit_go_under_the_row() -> None:
    """The last ones, with their names; empty cells are left out."""
    columns = ("id", "kind", "state", "lane", "note")
    rows = [
        (ID, "shop.orders.place", "suspended", "default", "for approval"),
        (ID, "a", "b", "", None),
    ]
    assert list(tables.lines(columns, rows, 50)) == [
        "id                    kind               state",
        "─" * 50,
        "01m7f9kp8mz6kj41te54  shop.orders.place  suspended",
        "    lane default, note for approval",
        "01m7f9kp8mz6kj41te54  a                  b",
    ]


def test_a_long_cell_folds_between_words() -> None:
    """Where that is enough, every column keeps its place."""
    note = "It waits for approval by 2 more of ann, ben, cid"
    drawn = list(tables.lines(("id", "n", "note"), [(ID, 7, note)], 60))
    assert drawn[2] == "01m7f9kp8mz6kj41te54  7  It waits for approval by 2 more of"
    assert drawn[3].split() == ["ann,", "ben,", "cid"]


def test_into_a_pipe_a_row_is_one_line() -> None:
    """However long it is: other programs read it line by line."""
    drawn = list(tables.lines(("id", "note"), [(ID, "word " * 100)], None))
    assert len(drawn) == 3


def test_texts_of_users_are_shown_as_they_are_but_on_one_line() -> None:
    """No markup, no escape codes, no line breaks; wide characters take two columns."""
    drawn = list(tables.lines(("a", "b"), [("[red]x[/red]", "1\n2\x1b[0m"), ("日本", 3)], 60))
    assert drawn[2] == "[red]x[/red]  1 2\\x1b[0m"
    assert drawn[3] == "日本          3"
