"""Reads the fields of flow files: each function takes a node and reports what is wrong with it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.host.flows.fields import Declared, Of, Ref
from holdfast.host.flows.model import ID_CHARS, NODE_ID, Condition
from holdfast.host.flows.problems import Problems, shown
from holdfast.host.flows.syntax import SyntaxProblem
from holdfast.host.flows.templates import Text, Value, compiled, parse_text
from holdfast.host.yaml_source import Node
from holdfast.model import bounds, schemas
from holdfast.model.hints import did_you_mean
from holdfast.worker.durations import to_ms

_WORDS = {
    "mapping": "a mapping",
    "list": "a list",
    "text": "text",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "null": "null",
}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_SECRET = "secret"  # noqa: S105 - the word itself


def word(node: Node) -> str:
    """Return the type of a node for a sentence."""
    return _WORDS[node.kind]


class Reader:
    """Reads values and reports problems."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def mapping(self, node: Node, what: str) -> bool:
        """Report a node that is no mapping."""
        if node.kind == "mapping":
            return True
        message = f"{what} must be a mapping, not {word(node)}"
        self.problems.add("not_a_mapping", node, message)
        return False

    def keys(self, node: Node, known: Iterable[str], what: str) -> None:
        """Report keys that do not exist."""
        names = list(known)
        for key in node.keys.values():
            if key.text not in names:
                message = f"{what} has no key `{shown(key.text)}`"
                self.problems.add("unknown_key", key, message, did_you_mean(key.text, names))

    def fields(self, node: Node, declared: dict[str, Declared], what: str) -> dict[str, Any] | None:
        """Read the declared fields of a mapping; None if a required one is missing or wrong."""
        if not self.mapping(node, what):
            return None
        self.keys(node, declared, what)
        found: dict[str, Any] = {}
        whole = True
        for name, field in declared.items():
            value = node.get(name)
            if value is None:
                if field.required:
                    whole = False
                    message = f"{what} needs the key `{name}`"
                    self.problems.add("missing_key", node, message, field.about)
                continue
            read = self.field(value, field, f"`{name}` of {what}")
            if read is not None:
                found[name] = read
            elif field.required:
                whole = False
        return found if whole else None

    def field(self, node: Node, field: Declared, what: str) -> Any:
        """Read one field; None if it is wrong."""
        simple: dict[Of, Callable[[Node, str], Any]] = {
            Of.TEXT: self.text,
            Of.VALUE: self.value,
            Of.FLAG: self.flag,
            Of.SCHEMA: self.schema,
            Of.TOOLS: self.tools,
            Of.HEADERS: self.headers,
            Of.TEXTS: self.texts,
        }
        if field.of in simple:
            return simple[field.of](node, what)
        if field.of is Of.INTEGER:
            return self.integer(node, what, field)
        if field.of is Of.DURATION:
            return self.duration(node, what, field)
        if field.of is Of.WORD:
            return self.word(node, what, field.choices)
        return self.ref(node, what)

    def string(self, node: Node, what: str, *, empty: bool = False) -> str | None:
        """Read a text without templates."""
        if not isinstance(node.value, str):
            message = f"{what} must be text, not {word(node)}"
            hint = "quote it" if node.kind in {"integer", "number", "boolean"} else ""
            self.problems.add("wrong_type", node, message, hint)
            return None
        if not node.value and not empty:
            self.problems.add("wrong_type", node, f"{what} is empty")
            return None
        return node.value

    def word(self, node: Node, what: str, choices: tuple[str, ...] = ()) -> str | None:
        """Read one of some words, or any name."""
        text = self.string(node, what)
        if text is None:
            return None
        if choices and text not in choices:
            message = f"{what} cannot be `{shown(text)}`"
            self.problems.add("bad_choice", node, message, did_you_mean(text, choices))
            return None
        return text

    def ref(self, node: Node, what: str) -> Ref | None:
        """Read a name of something else."""
        text = self.string(node, what)
        return None if text is None else Ref(text, node)

    def flag(self, node: Node, what: str) -> bool | None:
        """Read true or false."""
        if isinstance(node.value, bool):
            return node.value
        message = f"{what} must be true or false, not {word(node)}"
        self.problems.add("wrong_type", node, message)
        return None

    def integer(self, node: Node, what: str, field: Declared) -> int | None:
        """Read an integer in its range."""
        value = node.value
        if not isinstance(value, int) or isinstance(value, bool):
            self.problems.add("wrong_type", node, f"{what} must be an integer, not {word(node)}")
            return None
        if not field.low <= value <= field.high:
            message = f"{what} must be from {field.low} to {field.high}, not {value}"
            self.problems.add("out_of_range", node, message)
            return None
        return value

    def duration(self, node: Node, what: str, field: Declared | None = None) -> int | None:
        """Read a duration as ms."""
        value = node.value
        hint = "write it like `30s`, `10m`, `2d` or `1h 30m`"
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.problems.add("bad_duration", node, f"{what} must be a duration", hint)
            return None
        try:
            found = to_ms("duration", value)
        except (InvalidInput, OverflowError):
            message = f"{what} is no duration: `{shown(value)}`"
            self.problems.add("bad_duration", node, message, hint)
            return None
        if found <= 0:
            self.problems.add("bad_duration", node, f"{what} must be longer than nothing")
            return None
        if field is not None and field.high and found > field.high:
            message = f"{what} must be at most {field.high // 1000}s"
            self.problems.add("bad_duration", node, message)
            return None
        return found

    def text(self, node: Node, what: str) -> Text | None:
        """Read a text with templates."""
        if not isinstance(node.value, str):
            message = f"{what} must be text, not {word(node)}"
            hint = "quote it" if node.kind in {"integer", "number", "boolean"} else ""
            if node.kind == "mapping" and node.value and "{" in node.source.lines[node.line - 1]:
                hint = "put quotes around a template that begins a value"
            self.problems.add("wrong_type", node, message, hint)
            return None
        return self._parsed(node)

    def texts(self, node: Node, what: str) -> tuple[Text, ...] | None:
        """Read a text with templates, or a list of them."""
        if node.kind != "list":
            text = self.text(node, what)
            return None if text is None else (text,)
        found = [self.text(item, f"an item of {what}") for item in node.items]
        return tuple(text for text in found if text is not None)

    def _parsed(self, node: Node) -> Text | None:
        try:
            return parse_text(node.value, node)
        except SyntaxProblem as problem:
            self.syntax(problem, node)
            return None

    def syntax(self, problem: SyntaxProblem, node: Node) -> None:
        """Report a problem of a template or an expression."""
        place = node.position_of(problem.offset)
        self.problems.add(problem.code, place, str(problem), problem.suggestion)

    def value(self, node: Node, what: str = "") -> Value | None:
        """Read a JSON value with templates."""
        del what
        before = len(self.problems.found)
        tree = self._tree(node)
        return None if len(self.problems.found) > before else Value(tree, node)

    def _tree(self, node: Node) -> Any:
        if node.kind == "mapping":
            return {key: self._tree(item) for key, item in node.entries.items()}
        if node.kind == "list":
            return [self._tree(item) for item in node.items]
        if isinstance(node.value, str) and ("{{" in node.value or "}}" in node.value):
            text = self._parsed(node)
            return node.value if text is None or not text.templates else text
        return node.value

    def condition(self, node: Node, what: str) -> Condition | None:
        """Read a CEL expression that is true or false."""
        if isinstance(node.value, bool):
            return Condition(compiled("true" if node.value else "false", 0), node)
        text = self.string(node, what)
        if text is None:
            return None
        if text.lstrip().startswith("{{"):
            message = f"{what} is an expression already"
            self.problems.add("bad_expression", node, message, "leave out `{{` and `}}`")
            return None
        try:
            return Condition(compiled(text, 0), node)
        except SyntaxProblem as problem:
            self.syntax(problem, node)
            return None

    def schema(self, node: Node, what: str) -> Any:
        """Read a JSON Schema."""
        problem = _problem_of_schema(msgspec.json.encode(node.value))
        if problem:
            self.problems.add("bad_schema", node, f"{what}: {problem}")
            return None
        return node.value

    def tools(self, node: Node, what: str) -> tuple[Ref, ...] | None:
        """Read a list of `component.operation`."""
        if node.kind != "list":
            self.problems.add("wrong_type", node, f"{what} must be a list, not {word(node)}")
            return None
        found: list[Ref] = []
        for item in node.items:
            text = self.string(item, f"an item of {what}")
            if text is None:
                continue
            component, point, operation = text.rpartition(".")
            if not (component and point and operation):
                message = f"a tool is `component.operation`, not `{shown(text)}`"
                self.problems.add("wrong_type", item, message)
                continue
            found.append(Ref(text, item))
        return tuple(found)

    def headers(self, node: Node, what: str) -> dict[str, Any] | None:
        """Read headers: texts with templates, or names of secrets."""
        if not self.mapping(node, what):
            return None
        found: dict[str, Any] = {}
        for name, item in node.entries.items():
            if not _HEADER.fullmatch(name):
                self.problems.add("bad_id", node.keys[name], f"`{shown(name)}` is no header")
            elif item.kind == "mapping":
                self.keys(item, [_SECRET], f"the header `{name}`")
                secret = item.get(_SECRET)
                if secret is None:
                    message = f"the header `{name}` must be text or `{{secret: NAME}}`"
                    self.problems.add("missing_key", item, message)
                else:
                    found[name] = self.ref(secret, f"the secret of the header `{name}`")
            else:
                found[name] = self.text(item, f"the header `{name}`")
        return {name: value for name, value in found.items() if value is not None}

    def variables(self, node: Node, what: str) -> dict[str, Value] | None:
        """Read values by variable."""
        if not self.mapping(node, what):
            return None
        found: dict[str, Value] = {}
        for name, item in node.entries.items():
            if self.name(node, name, "a variable"):
                value = self.value(item)
                if value is not None:
                    found[name] = value
        return found

    def name(self, node: Node, name: str, what: str) -> bool:
        """Report a key that is no name in expressions."""
        if NODE_ID.fullmatch(name) and len(name) <= ID_CHARS:
            return True
        message = f"`{shown(name)}` is not the name of {what}"
        hint = "use letters, digits and `_`, and begin with a letter"
        self.problems.add("bad_id", node.keys[name], message, hint)
        return False

    def size(self, node: Node, what: str) -> None:
        """Report a constant that is too large for a payload."""
        if len(msgspec.json.encode(node.value)) > bounds.PAYLOAD_BYTES:
            self.problems.add("out_of_range", node, f"{what} is too large")


@lru_cache(maxsize=1024)
def _problem_of_schema(encoded: bytes) -> str:
    """Return what is wrong with a schema; flows repeat the same ones, and a check is slow."""
    try:
        with warnings.catch_warnings():
            # Python warns about patterns such as `[[a]`, which are valid.
            warnings.simplefilter("ignore", FutureWarning)
            schemas.encode("schema", msgspec.json.decode(encoded))
    except (InvalidInput, RecursionError) as error:
        return shown_line(str(error).partition(": ")[2] or str(error))
    return ""


def shown_line(text: str) -> str:
    """Return the first line of a text, short."""
    return text.splitlines()[0][:200] if text else ""
