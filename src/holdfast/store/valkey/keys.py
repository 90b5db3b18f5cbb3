"""Tags and channels: the few names that Python shares with lua/lib/core/keys.lua."""

from __future__ import annotations


def partition_tag(prefix: str, partition: int) -> str:
    """Return the one key that a function of a partition is given."""
    return f"{prefix}:{{p:{partition}}}"


def budget_tag(prefix: str, partition: int) -> str:
    """Return the tag of a partition of budgets."""
    return f"{prefix}:{{b:{partition}}}"


def quota_tag(prefix: str, partition: int) -> str:
    """Return the tag of a partition of quotas."""
    return f"{prefix}:{{q:{partition}}}"


def global_tag(prefix: str) -> str:
    """Return the tag of what exists once: boot facts, workers."""
    return f"{prefix}:{{g}}"


def queue_tag(prefix: str, name: str) -> str:
    """Return the tag of a message queue."""
    return f"{prefix}:{{m:{name}}}"


def wake_channel(tag: str, lane: str) -> str:
    """Return the channel on which a lane's new work is announced."""
    return f"{tag}:wake:{lane}"


def tick_channel(tag: str) -> str:
    """Return the channel that wakes the maintenance loop."""
    return f"{tag}:tick"


def due_channel(tag: str) -> str:
    """Return the channel on which schedules that are due are announced."""
    return f"{tag}:due"


def feed_channel(tag: str, tenant: str) -> str:
    """Return the channel on which news of a tenant's event feed are announced."""
    return f"{tag}:news:{tenant}"


def mailbox_channel(tag: str, process: str) -> str:
    """Return the channel on which a process is told what it waits for."""
    return f"{tag}:box:{process}"


def outbox_channel(tag: str) -> str:
    """Return the channel that says that a partition has something to tell others."""
    return f"{tag}:out"
