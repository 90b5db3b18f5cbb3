"""How a store is doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """How a store is doing."""

    #: The delay of the most overdue timer.
    late_s: float
    #: How long the oldest waiting execution of each lane has waited.
    waiting_s: Mapping[str, float]
    #: Counts of incidents since the store was made.
    incidents: Mapping[str, int]
