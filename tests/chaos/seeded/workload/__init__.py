"""What clients do, and what must hold of it: one module for each noun."""

from __future__ import annotations

from tests.chaos.seeded.workload.tasks import Tasks
from tests.chaos.seeded.workload.workload import Workload

#: The first is part of every seed.
WORKLOADS: tuple[type[Workload], ...] = (Tasks,)

__all__ = ["WORKLOADS", "Workload"]
