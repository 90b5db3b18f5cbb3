"""docs/cli.md describes the commands that there are, with the options that they have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from holdfast.cli.main import app
from holdfast.cli.terminal import failures
from tests.acceptance.processes import ROOT

PAGE = (ROOT / "docs" / "cli.md").read_text()

#: On every command, so told once for all.
COMMON = {"--store", "--json", "--help"}

_HEADING = re.compile(r"^### `holdfast ([a-z -]+)", re.MULTILINE)
_EXIT_CODE = re.compile(r"^\| (\d+) \|", re.MULTILINE)


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, child in command.commands.items():
        if hasattr(child, "commands"):
            yield from _leaves(child, (*path, name))
        else:
            yield " ".join((*path, name)), child


COMMANDS = dict(_leaves(get_command(app)))


def _sections() -> dict[str, str]:
    """Return the text under each command's heading."""
    parts = re.split(r"^(?=##)", PAGE, flags=re.MULTILINE)
    return {found[1].strip(): part for part in parts if (found := _HEADING.match(part))}


def test_every_command_has_a_section_and_no_other_has() -> None:
    """The tree of the program is the table of contents."""
    assert _sections().keys() == COMMANDS.keys()


def test_every_section_names_all_options_and_no_others() -> None:
    """An option is written as it is typed."""
    wrong = {}
    for name, text in _sections().items():
        shown = {
            option
            for parameter in COMMANDS[name].params
            if not getattr(parameter, "hidden", False)
            for option in parameter.opts
            if option.startswith("--")
        }
        written = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
        if (shown - COMMON) - written or written - shown:
            wrong[name] = ((shown - COMMON) - written, written - shown)
    assert wrong == {}


def test_the_exit_codes_are_those_of_the_program() -> None:
    """Scripts rely on the table."""
    codes = {0, failures.FAILED, failures.WRONG_USAGE, failures.NOT_FOUND}
    codes |= {failures.STORE_TROUBLE, failures.INTERRUPTED}
    assert {int(code) for code in _EXIT_CODE.findall(PAGE)} == codes
