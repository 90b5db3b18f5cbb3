"""Channels on which the store wakes processes; lua/lib/core/wake.lua publishes on them."""

from __future__ import annotations


def work(tag: str, lane: str) -> str:
    """Return the channel that announces new work of a lane."""
    return f"{tag}:wake:{lane}"


def topic(tag: str, name: str) -> str:
    """Return the channel of a topic other than a lane: messages, queues, tasks."""
    return f"{tag}:wake:{name}"


def timers(tag: str) -> str:
    """Return the channel that wakes the ticker."""
    return f"{tag}:tick"


def schedules(tag: str) -> str:
    """Return the channel that announces due schedules."""
    return f"{tag}:due"


def feed(tag: str, tenant: str) -> str:
    """Return the channel that announces new entries of a tenant's event feed."""
    return f"{tag}:news:{tenant}"


def mailbox(tag: str, process: str) -> str:
    """Return the channel on which a waiting process is notified."""
    return f"{tag}:box:{process}"


def replies(tag: str) -> str:
    """Return the channel on which replies to send are announced."""
    return f"{tag}:replies"


def deployments(tag: str) -> str:
    """Return the channel that announces changes of deployments; the message is their env."""
    return topic(tag, "deployments")


def drained(tag: str) -> str:
    """Return the channel that announces closed revisions that nothing needs; the message is one."""
    return f"{tag}:drained"


def outbox(tag: str) -> str:
    """Return the channel that announces entries in a partition's outbox."""
    return f"{tag}:out"
