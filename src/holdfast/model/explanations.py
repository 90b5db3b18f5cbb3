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
