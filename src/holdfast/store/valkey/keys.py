"""Tags: the names that Python shares with lua/lib/core/keys.lua, besides the channels."""

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
    """Return the tag of the global partition: boot facts, workers."""
    return f"{prefix}:{{g}}"


def archive_tag(prefix: str, digest: str) -> str:
    """Return the tag of the archive of a pack."""
    return f"{prefix}:{{k:{digest}}}"


def queue_tag(prefix: str, name: str) -> str:
    """Return the tag of a message queue."""
    return f"{prefix}:{{m:{name}}}"
