"""Message queues: operations and services over the store."""

from __future__ import annotations

from holdfast.queues.effects import Push, Submit
from holdfast.queues.maintenance import QueueTicker
from holdfast.queues.queues import Queues

__all__ = ["Push", "QueueTicker", "Queues", "Submit"]
