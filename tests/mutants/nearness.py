"""Which tests most likely notice a change, by the names in the Lua files.

Tests of functions mirror the files of the functions. A change of a lib is looked for by the tests
of the functions that call what has changed, directly or through other libs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from holdfast.store.valkey import library
from holdfast.store.valkey.library import Source
from tests.mutants.drawing import Mutant

_FUNCTION = re.compile(r"^(?:local )?function ([\w.]+)", re.MULTILINE)
#: Through how many libs a change is followed, and to how many functions.
_DEPTH, _MOST = 3, 12


def near(mutant: Mutant) -> list[str]:
    """Return how the paths of tests begin that most likely notice, the likeliest first."""
    source = library.sources()[mutant.source]
    if not source.is_lib:
        return [_tests_of(source.name)]
    return [_tests_of(name) for name in list(dict.fromkeys(_users(source, mutant)))[:_MOST]]


def _tests_of(name: str) -> str:
    folder, _, file = name.rpartition("/")
    return f"tests/lua/{folder}/test_{file}"


def _users(source: Source, mutant: Mutant) -> Iterator[str]:
    """Yield the functions that run the changed code, those with the shortest way first."""
    named = [match[1] for match in _FUNCTION.finditer(mutant.before) if match.start() < mutant.at]
    whole = f"{source.table}."
    is_used = bool(named) and "." in named[-1] and len(_naming(named[-1])) > 1
    seen = {source.name}
    level = [(source, named[-1] if is_used else whole)]
    for _ in range(_DEPTH):
        found = [user for _, word in level for user in _naming(word) if user.name not in seen]
        yield from (user.name for user in found if not user.is_lib)
        seen |= {user.name for user in found}
        level = [(user, f"{user.table}.") for user in found if user.is_lib]


@cache
def _naming(word: str) -> list[Source]:
    """Return the files that use a name, the smallest first."""
    pattern = re.compile(rf"\b{re.escape(word)}" + ("" if word.endswith(".") else r"\b"))
    users = [one for one in library.sources().values() if pattern.search(_code(one))]
    return sorted(users, key=lambda one: len(one.text))


def _code(source: Source) -> str:
    return re.sub(r"--[^\n]*", "", source.text)
