"""References to budgets and quotas, in the form that records, grants and outboxes use.

A budget is `b:ROOT~ID`, or `b:ID` if it is a root itself; a quota is `q:ID`, or `q:ID#VALUE` for
the part of one value of a tag. Nothing outside the store reads or writes that form.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

_ROOT, _VALUE = "~", "#"


class LimitRef(NamedTuple):
    """One budget or quota, by its stored name."""

    kind: Literal["budget", "quota"]
    id: str
    #: For a budget: the root of its tree, empty if it is the root.
    root: str = ""
    #: For a quota: the value of the tag by which it counts.
    value: str | None = None

    @classmethod
    def parse(cls, text: str) -> LimitRef:
        """Read a reference."""
        if text.startswith("b:"):
            root, _, budget_id = text[2:].rpartition(_ROOT)
            return cls("budget", budget_id, root)
        return cls.quota(text[2:])

    @classmethod
    def quota(cls, name: str) -> LimitRef:
        """Return the quota with a name, ID or ID#VALUE."""
        quota_id, found, value = name.partition(_VALUE)
        return cls("quota", quota_id, value=value if found else None)

    @classmethod
    def budget(cls, budget_id: str, root: str) -> LimitRef:
        """Return the budget of a tree."""
        return cls("budget", budget_id, "" if root == budget_id else root)

    def ancestor(self, budget_id: str) -> LimitRef:
        """Return another budget of the same tree."""
        return LimitRef.budget(budget_id, self.root or self.id)

    @property
    def name(self) -> str:
        """The stored name; for a quota, with the value of its tag."""
        return self.id if self.value is None else f"{self.id}{_VALUE}{self.value}"

    def encode(self) -> str:
        """Return the form that the library reads."""
        if self.kind == "quota":
            return f"q:{self.name}"
        return f"b:{self.root}{_ROOT}{self.id}" if self.root else f"b:{self.id}"


def parse_all(text: str) -> list[LimitRef]:
    """Read the limits of an execution, one per line."""
    return [LimitRef.parse(line) for line in text.split("\n") if line]


def encode_all(limits: Iterable[LimitRef]) -> str:
    """Return the limits of an execution in the form that the library reads."""
    return "\n".join(limit.encode() for limit in limits)
