"""What clients do, and what must hold of it: one module for each noun."""

from __future__ import annotations

from tests.chaos.seeded.workload.archives import Archives
from tests.chaos.seeded.workload.budgets import Budgets
from tests.chaos.seeded.workload.flows import Flows
from tests.chaos.seeded.workload.graphs import Graphs
from tests.chaos.seeded.workload.leases import Leases
from tests.chaos.seeded.workload.queues import Queues
from tests.chaos.seeded.workload.quotas import Quotas
from tests.chaos.seeded.workload.replies import Replies
from tests.chaos.seeded.workload.schedules import Schedules
from tests.chaos.seeded.workload.sessions import Sessions
from tests.chaos.seeded.workload.signals import Signals
from tests.chaos.seeded.workload.splits import Splits
from tests.chaos.seeded.workload.streams import Streams
from tests.chaos.seeded.workload.tasks import Tasks
from tests.chaos.seeded.workload.workload import Workload

#: The first is part of every seed.
WORKLOADS: tuple[type[Workload], ...] = (
    Tasks,
    Archives,
    Budgets,
    Flows,
    Graphs,
    Leases,
    Queues,
    Quotas,
    Replies,
    Schedules,
    Sessions,
    Signals,
    Splits,
    Streams,
)

__all__ = ["WORKLOADS", "Workload"]
