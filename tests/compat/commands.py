"""The command line: each command with its options, and the error codes that every face shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from holdfast.cli.main import app
from holdfast.errors import HoldfastError


def options() -> dict[str, list[str]]:
    """Return the options of each command, without hidden ones."""
    return {
        name: sorted(
            option
            for parameter in command.params
            if not getattr(parameter, "hidden", False)
            for option in parameter.opts
        )
        for name, command in _leaves(get_command(app))
    }


def codes() -> list[str]:
    """Return the stable codes of all errors."""
    return sorted({error.code for error in _errors(HoldfastError)})


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, child in command.commands.items():
        if hasattr(child, "commands"):
            yield from _leaves(child, (*path, name))
        else:
            yield " ".join((*path, name)), child


def _errors(root: type[HoldfastError]) -> Iterator[type[HoldfastError]]:
    yield root
    for error in root.__subclasses__():
        yield from _errors(error)
