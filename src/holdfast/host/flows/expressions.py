"""Expressions of flows: CEL over the scope of a node, with a bound on their cost."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property, lru_cache
from typing import Any

from holdfast.host.flows import functions
from holdfast.host.flows.functions import FUNCTIONS, OWN, PREFIX
from holdfast.host.flows.syntax import (
    HAS,
    WALKS,
    Call,
    Index,
    Name,
    Select,
    SyntaxProblem,
    Tree,
    parse,
    path_of,
)
from holdfast.model.hints import did_you_mean

#: How much work an expression may be: values and characters, times those that a list is walked by.
MAX_COST = 4_000_000
#: One macro may be inside another, but no third inside that.
MAX_WALK_DEPTH = 2
_REASON = re.compile(
    r"Python function call failed: \w+: (.*?)\. Check function arguments", re.DOTALL
)


class ExpressionFailed(Exception):
    """An expression of a flow cannot be evaluated."""

    code = "expression_failed"


class MissingPath(ExpressionFailed):
    """An expression refers to a value that does not exist."""

    code = "missing_path"


@dataclass(frozen=True)
class Expression:
    """A checked expression."""

    text: str
    tree: Tree

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables that it refers to."""
        return frozenset(name.name for name in outer_names(self.tree))

    @cached_property
    def _program(self) -> Any:
        return _compiled(self.text, self.tree)

    @cached_property
    def _path(self) -> tuple[str, list[str | int]] | None:
        path = path_of(self.tree)
        return (path[0].name, path[1]) if path and isinstance(path[0], Name) else None

    @cached_property
    def _walks(self) -> bool:
        return any(isinstance(part, Call) and part.walker for part in self.tree.walk())

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Return the value; raises MissingPath or ExpressionFailed."""
        if self._path is not None:
            value = _follow(self.text, scope, *self._path)
            return functions.plain(value) if isinstance(value, datetime | timedelta) else value
        if self._walks and (cost := _cost(self.tree, scope)) > MAX_COST:
            message = f"`{self.text}` is too much work: {cost} steps, and {MAX_COST} are allowed"
            raise ExpressionFailed(message)
        variables = {name: scope[name] for name in self.names if name in scope}
        try:
            return functions.plain(self._program.execute({**OWN, **variables}))
        except Exception as error:
            raise self._explained(error, scope) from error
        except BaseException as error:
            # What a panic of the evaluator is raised as.
            if type(error).__name__ != "PanicException":
                raise
            raise ExpressionFailed(f"`{self.text}` cannot be evaluated") from error

    def holds(self, scope: Mapping[str, Any]) -> bool:
        """Return whether a condition is true; raises ExpressionFailed if it is no condition."""
        value = self.evaluate(scope)
        if not isinstance(value, bool):
            message = f"the condition `{self.text}` is {_shown(value)}, neither true nor false"
            raise ExpressionFailed(message)
        return value

    def _explained(self, error: Exception, scope: Mapping[str, Any]) -> ExpressionFailed:
        """Find the path that is missing, if one is."""
        for part in _sure_paths(self.tree):
            path = path_of(part)
            if path is None or not isinstance(path[0], Name):
                continue
            try:
                _follow(self.text, scope, path[0].name, path[1])
            except MissingPath as missing:
                return missing
        if isinstance(error, KeyError | IndexError):
            return MissingPath(f"`{self.text}`: there is no {error.args[0]!r}")
        found = _REASON.search(str(error))
        why = found[1] if found else str(error).partition(": the operation")[0].splitlines()[0]
        return ExpressionFailed(f"`{self.text}` cannot be evaluated: {why[:200]}")


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Expression:
    """Check an expression; raises SyntaxProblem."""
    tree = parse(text)
    for part in tree.walk():
        if isinstance(part, Call):
            _check_call(part)
    _check_walks(tree, 0)
    _compiled(text, tree)
    return Expression(text, tree)


def _check_call(call: Call) -> None:
    name, target = call.function, call.target
    if (target is not None and name in WALKS) or (target is None and name == HAS):
        return
    function = FUNCTIONS.get(name)
    if function is None:
        raise SyntaxProblem(
            f"there is no function `{name}`",
            call.offset,
            code="unknown_function",
            suggestion=did_you_mean(name, [*FUNCTIONS, *WALKS, HAS]),
        )
    if target is not None and not function.as_method:
        raise SyntaxProblem(f"`{name}` is a function: write `{name}(...)`", call.offset)
    if target is None and not function.as_function:
        raise SyntaxProblem(f"`{name}` is a method: write `value.{name}(...)`", call.offset)
    count = len(call.parts)
    if not len(function.takes) - function.optional <= count <= len(function.takes):
        wanted = len(function.takes) - (target is not None)
        message = f"`{name}` takes {wanted} argument{'s' * (wanted != 1)}"
        raise SyntaxProblem(message, call.offset)


def _check_walks(tree: Tree, depth: int) -> None:
    if isinstance(tree, Call) and tree.walker:
        depth += 1
        if depth > MAX_WALK_DEPTH:
            message = f"`{tree.function}` is inside {MAX_WALK_DEPTH} other walks over lists"
            raise SyntaxProblem(message, tree.offset)
    for part in tree.parts:
        _check_walks(part, depth)


def _compiled(text: str, tree: Tree) -> Any:
    """Compile, with our own functions under the names by which the evaluator knows them."""
    for call in sorted(_calls(tree), key=lambda call: call.offset, reverse=True):
        if PREFIX + call.function in OWN:
            text = text[: call.offset] + PREFIX + text[call.offset :]
    try:
        return _library().compile(text)
    except ValueError as error:
        line = str(error).splitlines()[0]
        raise SyntaxProblem(line.rpartition("ERROR: ")[2][:200], tree.offset) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise SyntaxProblem("this is not a CEL expression", tree.offset) from error


@cache
def _library() -> Any:
    import cel  # noqa: PLC0415 - loaded when used

    # It logs what it raises as well.
    logging.getLogger("cel").setLevel(logging.CRITICAL)
    return cel


def _calls(tree: Tree) -> list[Call]:
    return [part for part in tree.walk() if isinstance(part, Call)]


def outer_names(tree: Tree, walkers: frozenset[str] = frozenset()) -> list[Name]:
    """Return the variables of the scope that an expression refers to, not those of its walks."""
    if isinstance(tree, Name):
        return [] if tree.name in walkers else [tree]
    if isinstance(tree, Call) and tree.walker and tree.target is not None:
        inside = walkers | {tree.walker}
        found = outer_names(tree.target, walkers)
        return found + [name for part in tree.arguments[1:] for name in outer_names(part, inside)]
    return [name for part in tree.parts for name in outer_names(part, walkers)]


def _sure_paths(tree: Tree) -> list[Tree]:
    """Return the longest paths outside `has` and walks."""
    if isinstance(tree, Call):
        if tree.function == HAS and tree.target is None:
            return []
        if tree.walker:
            return _sure_paths(tree.target) if tree.target else []
    if isinstance(tree, Name | Select | Index) and path_of(tree) is not None:
        return [tree]
    return [path for part in tree.parts for path in _sure_paths(part)]


def _follow(text: str, scope: Mapping[str, Any], root: str, keys: list[str | int]) -> Any:
    if root not in scope:
        raise MissingPath(f"`{text}`: there is no `{root}`")
    value, path = scope[root], root
    for key in keys:
        if not _has(value, key):
            raise MissingPath(f"`{text}`: {path} {_lacks(value, key)}")
        value = value[key]
        path += f".{key}" if isinstance(key, str) else f"[{key}]"
    return value


def _has(value: Any, key: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(key, int) and 0 <= key < len(value)
    return isinstance(value, Mapping) and key in value


def _lacks(value: Any, key: str | int) -> str:
    if value is None:
        return f"is null, so it has no `{key}`"
    if isinstance(value, list):
        return f"has {len(value)} items, no `{key}`"
    if isinstance(value, Mapping):
        return f"has no `{key}`"
    return f"is {_shown(value)}, so it has no `{key}`"


def _shown(value: Any) -> str:
    words = {str: "text", bool: "a boolean", int: "a number", float: "a number", dict: "a map"}
    return "null" if value is None else words.get(type(value), "a list")


def _cost(tree: Tree, scope: Mapping[str, Any]) -> int:
    """Estimate the work of an expression that walks over lists."""
    if isinstance(tree, Name | Select | Index) and (path := path_of(tree)) is not None:
        root, keys = path
        try:
            return _weight(_follow("", scope, root.name, keys)) if isinstance(root, Name) else 1
        except MissingPath:
            return 1
    if isinstance(tree, Call) and tree.walker and tree.target is not None:
        items = _cost(tree.target, scope)
        inside = {name: value for name, value in scope.items() if name != tree.walker}
        body = sum(_cost(part, inside) for part in tree.arguments[1:])
        return items * (1 + body)
    return 1 + sum(_cost(part, scope) for part in tree.parts)


def _weight(value: Any) -> int:
    """Count the values and the characters of a value, texts by 16."""
    weight, waiting = 0, [value]
    while waiting and weight <= MAX_COST:
        item = waiting.pop()
        weight += 1
        if isinstance(item, str):
            weight += len(item) // 16
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return weight
