"""What lint finds: a code, a place, a sentence, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from holdfast.host.yaml_source import Key, Node, Position


class Severity(StrEnum):
    """Whether a pack with the problem can be built and run."""

    ERROR = "error"
    WARNING = "warning"


#: Every code that lint of flows reports, and what it means; renderers and documents list them.
CODES: dict[str, str] = {
    "invalid_yaml": "The file is not YAML, or uses a part of YAML that packs do not allow.",
    "not_a_mapping": "A mapping of keys to values belongs here.",
    "unknown_key": "There is no such key here.",
    "missing_key": "A required key is missing.",
    "wrong_type": "The value has another type than the key takes.",
    "out_of_range": "A number is too small or too large.",
    "bad_choice": "The value is not one of those that the key takes.",
    "bad_id": "An id does not have the form of one.",
    "reserved_id": "The id has a meaning of its own.",
    "duplicate_id": "Two flows have the same id.",
    "no_nodes": "The flow has no nodes.",
    "no_kind": "The node has no kind.",
    "two_kinds": "The node has more than one kind.",
    "bad_duration": "The value is not a duration.",
    "bad_template": "A template is not closed, or does not have the form of one.",
    "bad_expression": "An expression is not CEL.",
    "bad_filter": "`default` is the only filter of a template.",
    "bad_schema": "The value is not a JSON Schema, or uses a part that is not allowed.",
    "bad_url": "The value is not the URL of a web server.",
    "unknown_function": "An expression calls a function that does not exist.",
    "unknown_name": "An expression refers to a name that is not in scope.",
    "missing_path": "An expression refers to a value that never exists.",
    "unknown_var": "No flow declares or sets the variable.",
    "unknown_node": "There is no node with this id.",
    "node_has_not_run": "The node cannot have run before its output is used.",
    "unreachable_node": "No path leads from the start to the node.",
    "unreachable_route": "A route comes after one that always applies.",
    "no_otherwise": "A list of conditions has no plain `to` at its end.",
    "endless_loop": "Nodes form a loop without a wait and without a condition that can end it.",
    "recursive_flow": "A flow calls itself, directly or through others.",
    "type_mismatch": "A value has another type than its use needs.",
    "wait_not_allowed": "Flows of this type, and branches, cannot wait for a message.",
    "no_effect": "A setting does nothing here.",
    "impossible_join": "The branches can never fulfil the join.",
    "impossible_need": "More people must approve than are named.",
    "unknown_flow": "The pack has no flow with this id.",
    "unknown_component": "The pack declares no component with this name.",
    "unknown_operation": "The component or provider declares no operation with this name.",
    "unknown_model": "The pack declares no model with this name.",
    "unknown_provider": "The pack declares no provider of this type.",
    "unknown_secret": "The pack declares no secret with this name.",
    "host_not_allowed": "The pack does not allow calls to this host.",
    "not_supported": "This host does not run nodes of this kind.",
}

_WARNINGS = frozenset({"unreachable_node", "unreachable_route", "no_effect"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file."""

    code: str
    message: str
    file: str
    line: int
    column: int
    suggestion: str = ""

    @property
    def severity(self) -> Severity:
        """Whether it stops a pack."""
        return Severity.WARNING if self.code in _WARNINGS else Severity.ERROR

    @property
    def position(self) -> Position:
        """Where it is."""
        return Position(self.file, self.line, self.column)

    def __str__(self) -> str:
        suggestion = f" ({self.suggestion})" if self.suggestion else ""
        return f"{self.position}: {self.severity}: {self.message}{suggestion} [{self.code}]"


@dataclass(slots=True)
class Problems:
    """Collects problems."""

    found: list[Problem] = field(default_factory=list)

    def add(
        self, code: str, place: Node | Key | Position, message: str, suggestion: str = ""
    ) -> None:
        """Report a problem at a place."""
        if code not in CODES:
            raise KeyError(code)
        position = place if isinstance(place, Position) else place.position
        problem = Problem(code, message, position.file, position.line, position.column, suggestion)
        if problem not in self.found:
            self.found.append(problem)

    def in_order(self) -> list[Problem]:
        """Return the problems, file by file, from top to bottom."""
        return sorted(self.found, key=lambda one: (one.file, one.line, one.column, one.code))


def article(word: str) -> str:
    """Return a word in quotes, with its article."""
    return f"{'an' if word[:1] in 'aeiou' else 'a'} `{word}`"


def shown(value: Any) -> str:
    """Return a value for a sentence, short."""
    text = value if isinstance(value, str) else repr(value)
    most = 60
    return text if len(text) <= most else text[: most - 1] + "…"
