"""Bundles of options: declared once, taken by commands as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from holdfast.cli.terminal.bundles import Bundle, spread


@dataclass(frozen=True, kw_only=True)
class Place(Bundle):
    """Where something is."""

    street: Annotated[str, typer.Argument(metavar="STREET")]
    number: Annotated[int, typer.Option("--number", "-n", help="The house.")] = 1


app = typer.Typer()


@app.command()
@spread
def send(*, loud: Annotated[bool, typer.Option("--loud")] = False, place: Place) -> None:
    """Send something."""
    print(place.street, place.number, loud)


@pytest.mark.parametrize(
    ("args", "printed"),
    [
        (("elm",), "elm 1 False"),
        (("elm", "-n", "7", "--loud"), "elm 7 True"),
    ],
)
def test_fields_are_arguments_and_options(args: tuple[str, ...], printed: str) -> None:
    """The command gets them back as the bundle, with its defaults."""
    answer = CliRunner().invoke(app, args)
    assert answer.output.strip() == printed


@pytest.mark.parametrize("args", [(), ("elm", "-n", "many")])
def test_a_missing_argument_or_a_wrong_type_is_refused(args: tuple[str, ...]) -> None:
    """As it is without a bundle."""
    assert CliRunner().invoke(app, args).exit_code == 2


def test_the_help_has_every_option() -> None:
    """With the sentence of the field and that of the command."""
    text = CliRunner().invoke(app, ["--help"]).output
    assert "Send something." in text
    assert "The house." in text
