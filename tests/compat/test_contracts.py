"""Nothing that an earlier version offered was taken away: HTTP, Python, commands, functions."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.store.valkey.boot import FORMAT
from tests.compat import commands, contracts, functions, http, names

#: The format of stores that docs/compatibility.md promises to read.
_PROMISED_FORMAT = 2


@pytest.mark.parametrize("version", contracts.read("http"))
def test_http_keeps_operations_and_fields(version: str) -> None:
    """Calls of older clients are taken, and have all the fields in their answers."""
    now = http.contract()
    broken = []
    for operation, before in contracts.read("http")[version].items():
        after = now.get(operation, {"takes": [], "requires": [], "gives": []})
        broken += [f"{operation} takes {one}" for one in _less(before["takes"], after["takes"])]
        broken += [f"{operation} gives {one}" for one in _less(before["gives"], after["gives"])]
        more = _less(after["requires"], before["requires"])
        broken += [f"{operation} now requires {one}" for one in more]
        broken += [operation] if operation not in now else []
    assert broken == []


@pytest.mark.parametrize("version", contracts.read("names"))
def test_python_keeps_names_and_parameters(version: str) -> None:
    """Programs that were written for an older version still import and call what they did."""
    now: dict[str, dict[str, Any]] = names.public()
    broken = []
    for module, before in contracts.read("names")[version].items():
        after = now.get(module, {})
        broken += [f"{module}.{name}" for name in _less(before, after)]
        broken += [
            f"{module}.{name}({parameter})"
            for name, parameters in before.items()
            for parameter in _less(parameters, after.get(name, parameters))
        ]
    assert broken == []


@pytest.mark.parametrize("version", contracts.read("commands"))
def test_the_command_line_keeps_commands_and_options(version: str) -> None:
    """Scripts that were written for an older version still run."""
    now = commands.options()
    broken = [
        f"{command} {option}"
        for command, options in contracts.read("commands")[version].items()
        for option in _less(options, now.get(command, ()))
    ]
    assert broken == []


@pytest.mark.parametrize("version", contracts.read("codes"))
def test_error_codes_stay(version: str) -> None:
    """Programs that tell errors apart by their codes still do."""
    assert _less(contracts.read("codes")[version], commands.codes()) == []


@pytest.mark.parametrize("version", contracts.read("functions"))
def test_functions_keep_their_names_and_arguments(version: str) -> None:
    """Older processes call them: arguments are added at the end, and may be absent."""
    now = functions.arguments()
    broken = [
        f"{name}({', '.join(before)})"
        for name, before in contracts.read("functions")[version].items()
        if now.get(name, [])[: len(before)] != before or name not in now
    ]
    assert broken == []


def _less(before: Any, after: Any) -> list[str]:
    return [one for one in before if one not in after]


def test_the_format_of_the_store_is_the_promised_one() -> None:
    """A new format needs a way to get there, and a word in docs/compatibility.md."""
    assert FORMAT == _PROMISED_FORMAT
