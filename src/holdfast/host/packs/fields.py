"""Checks of values in YAML files; they collect what is wrong instead of stopping at the first."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NoReturn, TypeVar

from holdfast.host.packs.problems import Problem, refuse
from holdfast.host.yaml_source import Node, Position

T = TypeVar("T")

NAME = re.compile(r"[a-z][a-z0-9_.-]*")
NAME_WORDS = "lower-case letters, digits, `_`, `.` and `-`, a letter first"
NAME_CHARS = 100
TEXT_CHARS = 2_000
LIST_ITEMS = 1_000
_DURATION = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)")
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SHOWN = 60
#: Stop looking for more after this many defects.
MOST_DEFECTS = 100
#: Among more names than this the nearest is not looked for: that takes time for each defect.
_MOST_KNOWN = 200


@dataclass(frozen=True, slots=True)
class Defect:
    """Something wrong in a file: where, what, and what to do."""

    problem: Problem
    file: str
    line: int
    column: int
    sentence: str
    suggestion: str = ""

    def __str__(self) -> str:
        words = f"{self.file}:{self.line}:{self.column}: {self.sentence}"
        return f"{words}; {self.suggestion}" if self.suggestion else words


def closest(word: str, known: Collection[str]) -> str:
    """Return a suggestion: the nearest known word, or all of them if they are few."""
    if len(known) > _MOST_KNOWN:
        return ""
    near = difflib.get_close_matches(word[:NAME_CHARS], sorted(known), 1)
    if near:
        return f"did you mean `{near[0]}`?"
    few = 0 < len(known) <= 16  # noqa: PLR2004 - two lines of a terminal
    return f"known are {', '.join(f'`{name}`' for name in sorted(known))}" if few else ""


class Defects:
    """Collects defects; the checks return None for a value that has one."""

    def __init__(self) -> None:
        self.found: list[Defect] = []

    def add(self, problem: Problem, at: Position, sentence: str, suggestion: str = "") -> None:
        """Note a defect; raises InvalidPack if there are enough of them."""
        self.found.append(Defect(problem, at.file, at.line, at.column, sentence, suggestion))
        if len(self.found) >= MOST_DEFECTS:
            self.finish()

    def finish(self) -> None:
        """Raise InvalidPack for the first defect, with all of them in its context."""
        if self.found:
            _raise(sorted(self.found, key=lambda one: (one.file, one.line, one.column)))

    def unknown(self, node: Node, what: str, known: Collection[str]) -> None:
        """Note fields that do not exist."""
        for text, key in node.keys.items():
            if text not in known:
                sentence = f"{what} has no field `{text[:_SHOWN]}`"
                self.add(Problem.UNKNOWN_FIELD, key.position, sentence, closest(text, known))

    def mapping(self, node: Node, what: str, known: Collection[str] | None = None) -> bool:
        """Whether it is a mapping; its fields must be known ones."""
        if node.kind != "mapping":
            self.wrong(node, what, "must be a mapping")
            return False
        if known is not None:
            self.unknown(node, what, known)
        return True

    def wrong(self, node: Node, what: str, rule: str, suggestion: str = "") -> None:
        """Note a value that breaks a rule."""
        shown = repr(node.value) if node.depth == 0 else f"a {node.kind}"
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}..."
        sentence = f"{what} {rule}, got {shown}"
        self.add(Problem.INVALID_FIELD, node.position, sentence, suggestion)

    def missing(self, node: Node, what: str, key: str) -> None:
        """Note a field that must be given."""
        self.add(Problem.MISSING_FIELD, node.position, f"{what} needs the field `{key}`")

    def field(
        self, node: Node, what: str, key: str, check: Callable[[Node, str], T | None]
    ) -> T | None:
        """Check a field that must be given."""
        value = node.get(key)
        if value is None:
            self.missing(node, what, key)
            return None
        return check(value, f"`{key}` of {what}")

    def optional(
        self, node: Node, what: str, key: str, check: Callable[[Node, str], T | None]
    ) -> T | None:
        """Check a field that may be omitted."""
        value = node.get(key)
        return None if value is None else check(value, f"`{key}` of {what}")

    def text(self, node: Node, what: str) -> str | None:
        """Check a text that is not empty."""
        if not isinstance(node.value, str) or not node.value.strip():
            quote = "quote it to make it text" if node.kind in {"integer", "number"} else ""
            self.wrong(node, what, "must be a text", quote)
            return None
        if len(node.value) > TEXT_CHARS:
            self.wrong(node, what, f"may have {TEXT_CHARS} characters")
            return None
        return node.value

    def name(self, node: Node, what: str) -> str | None:
        """Check an id."""
        if (text := self.text(node, what)) is None:
            return None
        if not NAME.fullmatch(text) or len(text) > NAME_CHARS:
            self.wrong(node, what, f"must have {NAME_WORDS}", _nearest_name(text))
            return None
        return text

    def choice(self, choices: Sequence[str]) -> Callable[[Node, str], str | None]:
        """Return a check that a value is one of a few words."""

        def check(node: Node, what: str) -> str | None:
            if node.value not in choices or not isinstance(node.value, str):
                word = str(node.value) if node.depth == 0 else ""
                self.wrong(node, what, f"must be {' or '.join(choices)}", closest(word, choices))
                return None
            return node.value

        return check

    def matching(self, pattern: re.Pattern[str], rule: str) -> Callable[[Node, str], str | None]:
        """Return a check that a text has a form."""

        def check(node: Node, what: str) -> str | None:
            text = self.text(node, what)
            if text is not None and not pattern.fullmatch(text):
                self.wrong(node, what, rule)
                return None
            return text

        return check

    def integer(self, low: int, high: int) -> Callable[[Node, str], int | None]:
        """Return a check that a number is between two others."""

        def check(node: Node, what: str) -> int | None:
            value = node.value
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                self.wrong(node, what, f"must be a whole number from {low} to {high}")
                return None
            return value

        return check

    def boolean(self, node: Node, what: str) -> bool | None:
        """Check a truth value."""
        if not isinstance(node.value, bool):
            word = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(str(node.value))
            self.wrong(node, what, "must be true or false", f"write {word}" if word else "")
            return None
        return node.value

    def duration_ms(self, node: Node, what: str) -> int | None:
        """Check a duration such as 10s."""
        match = _DURATION.fullmatch(node.value) if isinstance(node.value, str) else None
        if match is None or int(match[1]) == 0:
            self.wrong(node, what, "must be a duration such as 500ms, 10s, 5m, 2h or 1d")
            return None
        return int(match[1]) * _UNITS_MS[match[2]]

    def items(self, node: Node, what: str) -> Iterator[tuple[Node, str]]:
        """Yield the values of a list, each with the words for it."""
        if node.kind != "list":
            suggestion = "write it as `[...]`" if node.depth == 0 and node.value else ""
            self.wrong(node, what, "must be a list", suggestion)
            return
        if len(node.items) > LIST_ITEMS:
            self.wrong(node, what, f"may have {LIST_ITEMS} items")
            return
        for index, item in enumerate(node.items, 1):
            yield item, f"item {index} of {what}"

    def texts(
        self, check: Callable[[Node, str], str | None], *, empty: bool = True
    ) -> Callable[[Node, str], tuple[str, ...] | None]:
        """Return a check of a list of texts that are all different."""

        def check_list(node: Node, what: str) -> tuple[str, ...] | None:
            seen: dict[str, None] = {}
            for item, words in self.items(node, what):
                text = check(item, words)
                if text in seen:
                    sentence = f"{what} has `{text}` twice"
                    self.add(Problem.DUPLICATE_ID, item.position, sentence)
                elif text is not None:
                    seen[text] = None
            if node.kind == "list" and not node.items and not empty:
                self.wrong(node, what, "must not be empty")
            return tuple(seen)

        return check_list

    def known(self, node: Node, what: str, name: str, names: Collection[str], kind: str) -> None:
        """Note a name that nothing of the pack has."""
        if name not in names:
            sentence = f"{what} names the {kind} `{name}`, which the pack does not have"
            self.add(Problem.UNKNOWN_NAME, node.position, sentence, closest(name, names))


def _raise(defects: list[Defect]) -> NoReturn:
    first = defects[0]
    more = f" (and {len(defects) - 1} more)" if len(defects) > 1 else ""
    refuse(
        first.problem,
        f"{first}{more}",
        file=first.file,
        line=first.line,
        column=first.column,
        defects=[{**asdict(one), "problem": one.problem.value} for one in defects],
    )


def _nearest_name(text: str) -> str:
    name = re.sub(r"[^a-z0-9_.-]+", "-", text.lower())[:NAME_CHARS].strip("-")
    return f"use `{name}`" if NAME.fullmatch(name) else ""
