"""Values with templates: JSON whose texts may hold `{{ expression }}`.

A text that is exactly one template has the value of its expression, of any type. In another text,
each template is replaced by its value as text. `| default(EXPRESSION)` gives a value for a path
that does not exist; it is the only filter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from holdfast.host.flows.expressions import Expression, ExpressionFailed, MissingPath
from holdfast.host.flows.expressions import compile_expression as _compile
from holdfast.host.flows.syntax import SyntaxProblem, tokens
from holdfast.host.yaml_source import Node, Position

OPEN, CLOSE = "{{", "}}"
MAX_TEXT = 262_144
_FILTER = re.compile(r"\s*([A-Za-z_]\w*)\s*")


@dataclass(frozen=True, slots=True)
class Template:
    """One `{{ ... }}`: an expression and what stands in for a path that does not exist."""

    expression: Expression
    offset: int
    default: Expression | None = None
    default_offset: int = 0

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Return the value; raises ExpressionFailed."""
        if self.default is None:
            return self.expression.evaluate(scope)
        try:
            return self.expression.evaluate(scope)
        except MissingPath:
            return self.default.evaluate(scope)


@dataclass(frozen=True, slots=True)
class Text:
    """A text with templates."""

    parts: tuple[str | Template, ...]
    node: Node | None = field(default=None, repr=False, compare=False)

    @property
    def templates(self) -> tuple[Template, ...]:
        """The templates in it."""
        return tuple(part for part in self.parts if isinstance(part, Template))

    @property
    def single(self) -> Template | None:
        """The template that the whole text is, if it is one."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, Template) else None

    @property
    def constant(self) -> str | None:
        """The text itself, if it has no templates."""
        return None if self.templates else "".join(str(part) for part in self.parts)

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Return the value of a single template, else a text."""
        if self.single is not None:
            return self.single.evaluate(scope)
        return self.text(scope)

    def text(self, scope: Mapping[str, Any]) -> str:
        """Return the value as text."""
        found: list[str] = []
        size = 0
        for part in self.parts:
            found.append(part if isinstance(part, str) else as_text(part.evaluate(scope)))
            size += len(found[-1])
            # Before they are joined: a file has room for many templates.
            if size > MAX_TEXT:
                raise ExpressionFailed(f"the text has more than {MAX_TEXT} characters")
        return "".join(found)


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value with templates; `tree` has a Text for each text that holds one."""

    tree: Any
    node: Node = field(repr=False, compare=False)

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Return the value with all templates replaced; raises ExpressionFailed."""
        return _evaluated(self.tree, scope)

    def texts(self) -> Iterator[Text]:
        """Yield the texts that hold templates."""
        waiting = [self.tree]
        while waiting:
            tree = waiting.pop()
            if isinstance(tree, Text):
                yield tree
            elif isinstance(tree, dict):
                waiting.extend(tree.values())
            elif isinstance(tree, list):
                waiting.extend(tree)


def _evaluated(tree: Any, scope: Mapping[str, Any]) -> Any:
    if isinstance(tree, Text):
        return tree.evaluate(scope)
    if isinstance(tree, dict):
        return {key: _evaluated(item, scope) for key, item in tree.items()}
    if isinstance(tree, list):
        return [_evaluated(item, scope) for item in tree]
    return tree


def as_text(value: Any) -> str:
    """Return a value inside a text: lists and maps as JSON, null as nothing."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else msgspec.json.encode(value).decode()
    except RecursionError as error:
        raise ExpressionFailed("a value in a text is nested too deep") from error


def parse_text(text: str, node: Node | None = None) -> Text:
    """Parse the templates of a text; raises SyntaxProblem."""
    parts: list[str | Template] = []
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        if start > at:
            parts.append(text[at:start])
        end = _end(text, start + len(OPEN))
        parts.append(_template(text, start + len(OPEN), end))
        at = end + len(CLOSE)
    rest = text[at:]
    if (stray := text.find(CLOSE, at)) >= 0 and rest.count("}") > rest.count("{"):
        message = "`}}` closes no template; write `{{ '}}' }}` to mean the characters"
        raise SyntaxProblem(message, stray, code="bad_template")
    if at < len(text) or not parts:
        parts.append(text[at:])
    return Text(tuple(parts), node)


def _end(text: str, start: int) -> int:
    """Find the `}}` of a template: outside texts and braces of the expression."""
    depth, at, quote = 0, start, ""
    while at < len(text):
        character = text[at]
        if quote:
            if character == "\\":
                at += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}":
            if depth == 0 and text.startswith(CLOSE, at):
                return at
            depth -= 1
        at += 1
    raise SyntaxProblem(
        "the template is not closed",
        start - len(OPEN),
        code="bad_template",
        suggestion="end it with `}}`",
    )


def _template(text: str, start: int, end: int) -> Template:
    inside = text[start:end]
    if not inside.strip():
        raise SyntaxProblem("the template is empty", start, code="bad_template")
    bar = _bar(inside, start)
    if bar is None:
        return Template(compiled(inside, start), start)
    word = _FILTER.match(inside, bar + 1)
    if word is None or word[1] != "default":
        name = word[1] if word else inside[bar + 1 :].strip()
        message = f"there is no filter `{name[:40]}`"
        raise SyntaxProblem(
            message, start + bar, code="bad_filter", suggestion="write `| default(VALUE)`"
        )
    arguments = inside[word.end() :].rstrip()
    if not (arguments.startswith("(") and arguments.endswith(")")):
        message = "`default` takes one value: `| default(VALUE)`"
        raise SyntaxProblem(message, start + bar, code="bad_filter")
    if _bar(arguments, start) is not None:
        message = "a template has one filter only"
        raise SyntaxProblem(message, start + word.end(), code="bad_filter")
    default_at = start + word.end() + 1
    return Template(
        compiled(inside[:bar], start), start, compiled(arguments[1:-1], default_at), default_at
    )


def compiled(text: str, start: int) -> Expression:
    """Compile a part of a text; offsets of problems are those in the whole text."""
    left = len(text) - len(text.lstrip())
    try:
        return _compile(text.strip())
    except SyntaxProblem as problem:
        raise SyntaxProblem(
            str(problem),
            problem.offset + start + left,
            code=problem.code,
            suggestion=problem.suggestion,
        ) from problem


def _bar(inside: str, start: int) -> int | None:
    """Find the `|` of a filter."""
    depth = 0
    try:
        words = tokens(inside)
    except SyntaxProblem as problem:
        raise SyntaxProblem(str(problem), start + problem.offset) from problem
    for word in words:
        if word.kind == "sign":
            depth += (word.text in "([{") - (word.text in ")]}")
            if word.text == "|" and depth == 0:
                return word.offset
    return None


def offset_of(template: Template, offset: int, node: Node, *, in_default: bool = False) -> Position:
    """Return the place of an offset in the expression of a template."""
    start = template.default_offset if in_default else template.offset
    text = node.value if isinstance(node.value, str) else ""
    while start < len(text) and text[start].isspace():
        start += 1
    return node.position_of(start + offset)
