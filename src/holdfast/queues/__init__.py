"""Message queues: operations and services over the store."""

from __future__ import annotations

from holdfast.queues.queues import Queues
from holdfast.queues.ticker import QueueTicker

__all__ = ["QueueTicker", "Queues"]
