"""Values that describe lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.model.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    """The state of a lane."""

    lane: str
    #: open, paused or draining.
    setting: str
    counts: Mapping[State, int]
    #: Workers that claim from it.
    workers: int
    #: The shares of tenants that differ from 1.
    weights: Mapping[str, float]
