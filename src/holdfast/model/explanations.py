"""Explanations: why an execution is in its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an execution is where it is."""

    state: State
    #: A plain sentence; one more if its end and that of its parent or children are bound.
    why: str
    #: What holds it: `type` and facts of each. Empty when it has ended.
    holds: Sequence[Mapping[str, Any]] = field(default_factory=list)

    @property
    def targets(self) -> list[dict[str, str] | None]:
        """For each hold, what to look at next: a noun and its id."""
        return [target_of(hold) for hold in self.holds]


#: What a hold is about, by its type; its `id` names it unless another field is given here.
_TARGETS = {
    "lease": ("worker", "worker"),
    "lane_paused": ("lane", "id"),
    "queue": ("lane", "id"),
    "no_worker": ("lane", "id"),
    "no_capable_worker": ("lane", "lane"),
    "waitpoint": ("waitpoint", "id"),
    "message": ("session", "id"),
    "person": ("session", "id"),
    "member": ("execution", "id"),
    "graph": ("graph", "id"),
    "schedule": ("schedule", "id"),
    "budget": ("budget", "id"),
    "quota": ("quota", "id"),
    "holder": ("execution", "id"),
}


def target_of(hold: Mapping[str, Any]) -> dict[str, str] | None:
    """Return what to look at next to learn more of a hold: a noun and its id."""
    noun, field_name = _TARGETS.get(str(hold["type"]), ("", ""))
    found = hold.get(field_name)
    return {"noun": noun, "id": str(found).partition("#")[0]} if found else None
