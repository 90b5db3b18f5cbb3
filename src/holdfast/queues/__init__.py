"""Message queues: operations and services over the store."""

from __future__ import annotations

from holdfast.queues.effects import Push, Submit
from holdfast.queues.queues import Queues
from holdfast.queues.ticker import QueueTicker

__all__ = ["Push", "QueueTicker", "Queues", "Submit"]
