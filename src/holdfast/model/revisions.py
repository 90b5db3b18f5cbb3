"""Revisions: what a deployment runs, never changed, and the lifecycle that each goes through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.packs import PackEntries
from holdfast.model.packs import digest as check_digest
from holdfast.model.states import State

#: An execution that needs a revision requires this capability, followed by the id of the revision.
PREFIX = "rev:"
_ID_CHARS = bounds.NAME_CHARS - len(PREFIX)


class Lifecycle(StrEnum):
    """What a revision is ready for."""

    #: It is known, and nothing has loaded it.
    STAGED = "staged"
    #: Hosts load it and judge its gates.
    WARMING = "warming"
    #: A split may route to it.
    READY = "ready"
    #: It starts nothing more; executions that need it go on.
    DRAINING = "draining"
    #: Nothing needs it, and hosts have unloaded it.
    INACTIVE = "inactive"
    #: A gate refused it.
    FAILED = "failed"
    #: It is kept for the record only.
    ARCHIVED = "archived"


#: The legal edges, by their source. Functions of the store get their part of it with each call.
EDGES: Mapping[Lifecycle, frozenset[Lifecycle]] = {
    Lifecycle.STAGED: frozenset({Lifecycle.WARMING, Lifecycle.ARCHIVED}),
    Lifecycle.WARMING: frozenset({Lifecycle.READY, Lifecycle.FAILED, Lifecycle.ARCHIVED}),
    Lifecycle.READY: frozenset({Lifecycle.DRAINING}),
    Lifecycle.DRAINING: frozenset({Lifecycle.INACTIVE}),
    Lifecycle.INACTIVE: frozenset({Lifecycle.WARMING, Lifecycle.ARCHIVED}),
    Lifecycle.FAILED: frozenset({Lifecycle.WARMING, Lifecycle.ARCHIVED}),
    Lifecycle.ARCHIVED: frozenset(),
}


def sources(target: Lifecycle) -> tuple[Lifecycle, ...]:
    """Return the states that have an edge to this one."""
    return tuple(state for state, targets in EDGES.items() if target in targets)


def capability(revision_id: str) -> str:
    """Return the capability of workers that have loaded a revision."""
    return PREFIX + revision_id


def revision_of(requires: tuple[str, ...]) -> str | None:
    """Return the revision that an execution with these requirements needs; None: it needs none."""
    for name in requires:
        if name.startswith(PREFIX):
            return name.removeprefix(PREFIX)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A check that a revision passes, or not, before it is ready: loads, signatures, providers."""

    name: str
    passed: bool
    #: Why it did not pass.
    reason: str = ""

    def __post_init__(self) -> None:
        checks.name("gate", self.name)
        checks.flag("passed", self.passed)
        checks.text("reason", self.reason, bounds.REASON_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRevision:
    """A revision to stage."""

    id: str
    #: Of an uploaded pack; None for an app.
    digest: str | None
    overlays: Sequence[str]
    config: Mapping[str, Any]
    #: Only packs that this tenant uploaded; None means every tenant.
    packs_of: str | None

    def __post_init__(self) -> None:
        checks.integer("overlays", len(self.overlays), 0, bounds.OVERLAYS)
        checks.payload("config", self.packed_config(), bounds.CONFIG_BYTES)
        if self.packs_of is not None:
            checks.name("packs_of", self.packs_of)
        check_revision(self.id)
        if self.digest is not None:
            check_digest("digest", self.digest)
        for overlay in self.overlays:
            check_digest("overlays", overlay)

    def packed_config(self) -> bytes:
        """Return the config as JSON; the same one written differently is the same."""
        try:
            return msgspec.json.encode(checks.mapping("config", self.config), order="deterministic")
        except (TypeError, msgspec.MsgspecError, RecursionError) as error:
            message = f"config: must be a JSON object ({error})"
            raise InvalidInput(message, field="config") from error


def check_revision(revision_id: str) -> str:
    """Check the id of a revision: a capability is a name, and `rev:` comes before the id."""
    checks.name("revision", revision_id)
    if len(revision_id) > _ID_CHARS:
        checks.refuse("revision", f"must have 1 to {_ID_CHARS} characters", revision_id)
    return revision_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A revision of a deployment."""

    #: Unique in the store, because workers advertise it alone: `rev:ID`.
    id: str
    #: Which revision of its deployment it is, from 1.
    number: int
    #: Of its pack; None for an app.
    digest: str | None
    overlays: tuple[str, ...]
    #: The digests of the archives of the pack and its overlays.
    archives: tuple[str, ...]
    #: The public keys that signed the pack.
    signers: tuple[str, ...]
    #: What messages can start, in the pack and its overlays.
    entries: tuple[PackEntries, ...] = ()
    #: What the host gives to the pack besides secrets.
    config: Mapping[str, Any]
    lifecycle: Lifecycle
    #: Goes up with every change of the lifecycle.
    version: int
    staged_at: datetime
    changed_at: datetime
    #: What the last warm-up found.
    gates: tuple[Gate, ...] = ()
    #: When it last began to drain.
    drained_at: datetime | None = None
    #: What drains longer may be ended by force.
    deadline_at: datetime | None = None
    #: Executions that need it and run, or are about to.
    running: int = 0
    #: Executions that need it and wait: for a message, an answer, a time.
    waiting: int = 0
    #: Since when the oldest of them waits.
    oldest_wait: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """How many executions need a revision."""

    running: int = 0
    waiting: int = 0
    oldest_wait: datetime | None = None

    def __bool__(self) -> bool:
        return self.running + self.waiting > 0

    def __add__(self, other: Needs) -> Needs:
        """Return the needs of two partitions together."""
        waits = [wait for wait in (self.oldest_wait, other.oldest_wait) if wait is not None]
        return Needs(
            running=self.running + other.running,
            waiting=self.waiting + other.waiting,
            oldest_wait=min(waits, default=None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """An execution that needs a revision."""

    execution: str
    #: The session whose conversation it is; None: it is no conversation.
    session: str | None
    state: State
    #: What it waits for: message, person, signal and others; empty if it does not wait.
    hold: str = ""
    #: Since when it waits; of one that does not wait, when it was created.
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedPage:
    """A page of what needs a revision."""

    items: tuple[Need, ...]
    next_cursor: str | None = None


def deadline(drained_at: datetime, drain_ms: int) -> datetime:
    """Return when a drain is overdue."""
    return drained_at + timedelta(milliseconds=drain_ms)
