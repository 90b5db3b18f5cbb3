"""Deployments: a pack or an app of a tenant, its routes, its revisions and its split."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.revisions import Lifecycle, Revision

#: What users read by default when an overdue drain ends their conversation.
RESTART_TEXT = "We have updated this service, and your conversation has to start again."

#: The weights of a split add up to this: basis points.
WHOLE_BPS = 10_000

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?\Z")
_PATH = re.compile(r"/[A-Za-z0-9._~/-]*\Z")
_HOST_CHARS = 253


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentRef:
    """Names a deployment. Without a tenant, the id must mean one deployment of the env."""

    env: str
    id: str
    tenant: str | None = None

    def __post_init__(self) -> None:
        checks.name("env", self.env)
        checks.name("deployment", self.id)
        if self.tenant is not None:
            checks.name("tenant", self.tenant)

    @property
    def label(self) -> str:
        """What its schedules have as the tag `deployment`."""
        return f"{self.env}/{self.id}"


#: Executions of a deployment's schedules have this tag, with the label of the deployment.
SCHEDULED_BY = "deployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDeployment:
    """A deployment to create: of a pack, or of an app that workers serve."""

    env: str
    id: str
    tenant: str
    #: The id of a pack.
    pack: str | None = None
    #: The name of a conversation that workers publish.
    app: str | None = None
    #: Host names that it answers; none means any.
    hosts: tuple[str, ...] = ()
    #: Paths that it answers, with everything below them; none means all.
    path_prefixes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.name("env", self.env)
        checks.name("id", self.id)
        checks.name("tenant", self.tenant)
        if (self.pack is None) == (self.app is None):
            checks.refuse("pack", "or app is required, and not both", self.pack)
        if self.pack is not None:
            checks.name("pack", self.pack)
        if self.app is not None:
            checks.kind("app", self.app)
        for name, check in (("hosts", _host), ("path_prefixes", _path)):
            given = checks.names(name, getattr(self, name), bounds.DEPLOYMENT_ROUTES, check=check)
            object.__setattr__(self, name, given)

    def digest(self) -> str:
        """Return a digest that two deployments share only if they are alike."""
        parts = (self.pack, self.app, self.hosts, self.path_prefixes)
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


def _host(field: str, value: Any) -> str:
    """Check a host name; it is compared without its case."""
    host = checks.text(field, value, _HOST_CHARS, empty=False).lower()
    if not _HOST.match(host):
        checks.refuse(field, "must be a host name without a port", value)
    return host


def _path(field: str, value: Any) -> str:
    checks.text(field, value, bounds.ID_CHARS, empty=False)
    if not _PATH.match(value) or "//" in value or ".." in value:
        checks.refuse(field, "must be a path that begins with /", value)
    return value.rstrip("/") or "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitEntry:
    """A share of the new sessions of a deployment."""

    revision: str
    #: In basis points; 0 lists the revision and routes nothing to it.
    weight_bps: int
    #: The generation since which it has always been routable; 0: it is not. A pin that was written
    #: in an earlier generation does not hold.
    since: int = 0

    def __post_init__(self) -> None:
        checks.name("revision", self.revision)
        checks.integer("weight_bps", self.weight_bps, 0, WHOLE_BPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How new sessions are divided between revisions."""

    #: Goes up by one with every change; 0: there never was a split.
    generation: int = 0
    entries: tuple[SplitEntry, ...] = ()
    at: datetime | None = None
    #: Who set it, as far as it is known.
    by: str = ""


def check_entries(entries: Sequence[SplitEntry]) -> tuple[SplitEntry, ...]:
    """Check the entries of a split and return them sorted by revision; none route nowhere."""
    checks.integer("entries", len(entries), 0, bounds.SPLIT_ENTRIES)
    for entry in entries:
        checks.instance("entries", entry, SplitEntry)
    revisions = {entry.revision for entry in entries}
    if len(revisions) != len(entries):
        checks.refuse("entries", "must name each revision once", sorted(revisions))
    total = sum(entry.weight_bps for entry in entries)
    if entries and total != WHOLE_BPS:
        checks.refuse("entries", f"must have weights that add up to {WHOLE_BPS}", total)
    return tuple(sorted(entries, key=lambda entry: entry.revision))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A deployment with its split and its revisions."""

    id: str
    env: str
    tenant: str
    pack: str | None
    app: str | None
    hosts: tuple[str, ...]
    path_prefixes: tuple[str, ...]
    created_at: datetime
    #: The number of its last change among the changes of its env.
    change: int
    #: What users read when an overdue drain ends their conversation.
    restart_text: str = RESTART_TEXT
    split: Split
    #: The splits before, the newest first: those that a rollback can return to.
    past: tuple[Split, ...]
    #: In the order in which they were staged.
    revisions: tuple[Revision, ...]

    @property
    def ref(self) -> DeploymentRef:
        """Its name."""
        return DeploymentRef(env=self.env, id=self.id, tenant=self.tenant)

    def revision(self, revision_id: str) -> Revision | None:
        """Return a revision, None if it has none of this id."""
        return next((one for one in self.revisions if one.id == revision_id), None)

    @property
    def served(self) -> tuple[Revision, ...]:
        """The revisions that hosts load."""
        return tuple(one for one in self.revisions if one.lifecycle in _SERVED)


_SERVED = frozenset({Lifecycle.WARMING, Lifecycle.READY, Lifecycle.DRAINING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A revision that drains."""

    deployment: DeploymentRef
    revision: str
    #: How long it may still take, negative after its deadline; None: it has no deadline.
    left_ms: int | None

    @property
    def is_overdue(self) -> bool:
        """Whether its deadline has passed."""
        return self.left_ms is not None and self.left_ms <= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCandidate:
    """A revision that a message could go to, and what speaks against it."""

    revision: str
    weight_bps: int
    lifecycle: str
    #: The chance that a new session goes to it, in basis points.
    chance_bps: int
    #: Why no new session goes to it; None if one may.
    excluded: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteExplanation:
    """Where the next message of a session would go, and why."""

    #: None if no revision takes new sessions.
    revision: str | None
    #: wait, pin, cookie or weights.
    reason: str
    candidates: tuple[RouteCandidate, ...]
    #: One sentence for each step of the order, up to the one that decided.
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentEvent:
    """Something that happened to a deployment."""

    at: datetime
    #: created, split, rolled_back, deadline, the lifecycle that a revision reached, or rollout_
    #: and what became of a rollout.
    event: str
    #: Who did it, as far as it is known.
    by: str = ""
    revision: str | None = None
    #: The lifecycle before.
    before: str | None = None
    #: The generation of the split that was set.
    generation: int | None = None
    #: The generation that a rollback returned to.
    to: int | None = None
    #: The id of a rollout.
    rollout: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentPage:
    """A page of deployments, by tenant and id."""

    items: tuple[Deployment, ...]
    next_cursor: str | None = None
