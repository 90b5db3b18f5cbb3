"""YAML files with the position of every value, read without trust in their author.

`load` returns a tree of nodes. A node has its plain value (what JSON could hold) and its place in
the file; the node of a mapping also has the places of its keys.

The language is the JSON-compatible part of YAML 1.2: `yes`, `on`, dates and times are text, keys
are always text, and there are no tags and no merge keys. Aliases may be used; each use counts as
many nodes as the anchor has, so that a small file cannot become a large value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

import yaml

from holdfast.errors import InvalidPack

MAX_BYTES = 1_048_576
MAX_DEPTH = 48
MAX_NODES = 50_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_TAG = "tag:yaml.org,2002:str"
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_HALF = re.compile(r"[\ud800-\udfff]")
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_EMPTY: Mapping[str, Any] = MappingProxyType({})
_INTEGER_BOUND = 2**63
_INTEGER_CHARS = 24
_NUMBER_CHARS = 64


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(slots=True, eq=False)
class Source:
    """A file that was read, for messages that show a part of it."""

    file: str
    lines: tuple[str, ...] = field(repr=False)


@dataclass(slots=True, eq=False)
class Key:
    """A key of a mapping, and its place."""

    text: str
    source: Source = field(repr=False)
    line: int
    column: int

    @property
    def position(self) -> Position:
        """Where the key is."""
        return Position(self.source.file, self.line, self.column)


@dataclass(slots=True, eq=False)
class Node:
    """A value of a file, and its place. Never changed; frozen classes take a third longer to read.

    `items` are the nodes of a list; `entries` are the nodes of a mapping by key, and `keys` the
    places of its keys, both in the order of the file. `value` is all of it as plain values.
    """

    value: Any
    source: Source = field(repr=False)
    line: int
    column: int
    #: How a text is written: `plain`, `'`, `"`, `|` or `>`; empty for a list or a mapping.
    style: str = ""
    items: tuple[Node, ...] = field(default=(), repr=False)
    entries: Mapping[str, Node] = field(default_factory=lambda: _EMPTY, repr=False)
    keys: Mapping[str, Key] = field(default_factory=lambda: _EMPTY, repr=False)
    #: How many nodes this is, itself included, with every alias written out.
    size: int = 1
    #: How deep lists and mappings are nested in it.
    depth: int = 0

    @property
    def position(self) -> Position:
        """Where the value begins."""
        return Position(self.source.file, self.line, self.column)

    @property
    def kind(self) -> str:
        """A word for the type: mapping, list, text, boolean, integer, number or null."""
        return kind_of(self.value)

    def get(self, key: str) -> Node | None:
        """Return the value of a key; None if there is no such key or this is no mapping."""
        return self.entries.get(key)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, in the order of the file."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.items))
            waiting.extend(reversed(list(node.entries.values())))

    def position_of(self, offset: int) -> Position:
        """Where a character of a text is in the file; the text's begin where that is not known.

        Escapes and folded lines move characters, so the place is only given if the file has the
        same characters there.
        """
        if not isinstance(self.value, str):
            return self.position
        before = self.value[:offset]
        row = before.count("\n")
        start = len(before) - before.rfind("\n") - 1
        text = self.value.split("\n")[row]
        if self.style == "|":
            line = self._line(self.line + row)
            indent = len(line) - len(line.lstrip(" "))
            column = line.find(text, 0) if text else indent
            if column >= 0:
                return Position(self.source.file, self.line + 1 + row, column + start + 1)
        elif row == 0 and "\n" not in self.value:
            column = self.column - 1 + (1 if self.style in {"'", '"'} else 0)
            if self._line(self.line - 1)[column : column + len(text)] == text:
                return Position(self.source.file, self.line, column + start + 1)
        return self.position

    def _line(self, index: int) -> str:
        lines = self.source.lines
        return lines[index] if index < len(lines) else ""


def kind_of(value: object) -> str:
    """Return the word for the type of a plain value."""
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (dict, "mapping"),
        (list, "list"),
        (str, "text"),
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
    )
    return next((word for kind, word in kinds if isinstance(value, kind)), "null")


def load(data: bytes | str, file: str) -> Node:
    """Read a file; raises InvalidPack with the problem `invalid_yaml` and the place of it.

    `file` is the name that positions and messages show.
    """
    text = _decoded(data, file)
    source = Source(file, tuple(text.split("\n")))
    try:
        return _Tree(source, text).read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        words = ", ".join(part for part in (error.context, error.problem) if part)
        _refuse(Position(file, line, column), f"this is not YAML: {words}")
    except yaml.YAMLError as error:
        _refuse(Position(file, 1, 1), f"this is not YAML: {' '.join(str(error).split())}")


def _decoded(data: bytes | str, file: str) -> str:
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    size = len(data)
    if size > MAX_BYTES:
        _refuse(Position(file, 1, 1), f"the file has {size} bytes, and {MAX_BYTES} are allowed")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - before.rfind(b"\n")
        _refuse(Position(file, line, column), "the file is not UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _refuse(position: Position, problem: str) -> NoReturn:
    raise InvalidPack(
        f"{position}: {problem}",
        problem="invalid_yaml",
        file=position.file,
        line=position.line,
        column=position.column,
    )


@dataclass(slots=True)
class _Open:
    """A list or a mapping that is being read."""

    mark: Any
    anchor: str | None
    is_mapping: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    key: Key | None = None
    size: int = 1
    depth: int = 1


class _Tree:
    """Builds the tree from the parser's events, without recursion."""

    def __init__(self, source: Source, text: str) -> None:
        self._source = source
        self._text = text
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._started: set[str] = set()
        self._root: Node | None = None
        self._documents = 0

    def read(self) -> Node:
        """Return the root; an empty file is null."""
        act = {
            yaml.DocumentStartEvent: self._document,
            yaml.MappingStartEvent: self._begin,
            yaml.SequenceStartEvent: self._begin,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
        }
        for event in yaml.parse(self._text, Loader=_LOADER):
            action = act.get(type(event))
            if action is not None:
                action(event)
        return self._root or Node(None, self._source, 1, 1)

    def _document(self, event: Any) -> None:
        if self._documents:
            self._refuse(event.start_mark, "a file has one document; remove the second")
        self._documents += 1

    def _begin(self, event: Any) -> None:
        mark = event.start_mark
        if len(self._open) >= MAX_DEPTH:
            self._refuse(mark, f"values are nested deeper than {MAX_DEPTH} levels")
        self._check_tag(event)
        holder = self._open[-1] if self._open else None
        if holder is not None and holder.is_mapping and holder.key is None:
            self._refuse(mark, "a key must be text, not a list or a mapping")
        if event.anchor is not None:
            self._started.add(event.anchor)
            self._anchors.pop(event.anchor, None)
        self._open.append(_Open(mark, event.anchor, isinstance(event, yaml.MappingStartEvent)))

    def _end(self, _event: Any) -> None:
        done = self._open.pop()
        value: Any = (
            {key: node.value for key, node in done.entries.items()}
            if done.is_mapping
            else [node.value for node in done.items]
        )
        line, column = done.mark.line + 1, done.mark.column + 1
        node = Node(
            value,
            self._source,
            line,
            column,
            items=tuple(done.items),
            entries=done.entries,
            keys=done.keys,
            size=done.size,
            depth=done.depth,
        )
        self._add(node, done.mark, done.anchor)

    def _scalar(self, event: Any) -> None:
        mark = event.start_mark
        self._check_tag(event)
        holder = self._open[-1] if self._open else None
        if holder is not None and holder.is_mapping and holder.key is None:
            self._key(holder, event)
            return
        plain = event.style is None or event.style == ""
        is_text = not plain or event.tag is not None
        value = self._whole(event) if is_text else self._constant(event.value, mark)
        style = "plain" if plain else event.style
        node = Node(value, self._source, mark.line + 1, mark.column + 1, style)
        self._add(node, mark, event.anchor)

    def _key(self, holder: _Open, event: Any) -> None:
        mark = event.start_mark
        text = self._whole(event)
        if text == "<<" and not event.style:
            self._refuse(mark, "merge keys (`<<`) are not supported; write the values out")
        if text == "":
            self._refuse(mark, "a key is empty")
        if event.anchor is not None:
            self._refuse(mark, "a key cannot have an anchor")
        if (first := holder.keys.get(text)) is not None:
            words = f"the key `{text[:80]}` is given twice; the first is on line {first.line}"
            self._refuse(mark, words)
        holder.key = Key(text, self._source, mark.line + 1, mark.column + 1)

    def _alias(self, event: Any) -> None:
        mark = event.start_mark
        node = self._anchors.get(event.anchor)
        if node is None:
            inside = event.anchor in self._started
            why = "is used inside itself" if inside else "does not exist"
            self._refuse(mark, f"the anchor `{event.anchor[:80]}` {why}")
        holder = self._open[-1] if self._open else None
        if holder is not None and holder.is_mapping and holder.key is None:
            self._refuse(mark, "a key must be text, not an alias")
        if len(self._open) + node.depth > MAX_DEPTH:
            self._refuse(mark, f"values are nested deeper than {MAX_DEPTH} levels")
        self._add(node, mark, None)

    def _add(self, node: Node, mark: Any, anchor: str | None) -> None:
        """Put a complete node where it belongs."""
        holder = self._open[-1] if self._open else None
        if anchor is not None:
            self._anchors[anchor] = node
        if node.size > MAX_NODES or (holder and holder.size + node.size > MAX_NODES):
            self._refuse(mark, f"the file has more than {MAX_NODES} values")
        if holder is None:
            self._root = node
            return
        holder.size += node.size
        holder.depth = max(holder.depth, node.depth + 1)
        if holder.key is None:
            holder.items.append(node)
        else:
            holder.entries[holder.key.text] = node
            holder.keys[holder.key.text] = holder.key
            holder.key = None

    def _constant(self, text: str, mark: Any) -> Any:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _NOT_JSON.fullmatch(text):
            self._refuse(mark, f"the number {text} has no JSON form; quote it to mean the text")
        if _INTEGER.fullmatch(text):
            if len(text) > _INTEGER_CHARS or abs(number := _integer(text)) >= _INTEGER_BOUND:
                self._refuse(mark, f"the number {text[:40]} is too large; quote it to mean text")
            return number
        if _NUMBER.fullmatch(text):
            if len(text) > _NUMBER_CHARS or not math.isfinite(real := float(text)):
                self._refuse(mark, f"the number {text[:40]} is too large; quote it to mean text")
            return real
        return text

    def _whole(self, event: Any) -> str:
        """Return a text that UTF-8 can hold: escapes can name half of a pair of surrogates."""
        text: str = event.value
        if not text.isascii() and _HALF.search(text):
            self._refuse(event.start_mark, "the text has half of a surrogate pair")
        return text

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None and event.tag != _TEXT_TAG:
            self._refuse(event.start_mark, f"tags are not supported; remove `{event.tag[:80]}`")

    def _refuse(self, mark: Any, problem: str) -> NoReturn:
        _refuse(Position(self._source.file, mark.line + 1, mark.column + 1), problem)


def _integer(text: str) -> int:
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
