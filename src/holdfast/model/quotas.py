"""Values that describe quotas, rules, and windows of submissions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from holdfast.model import bounds, checks, names

#: The properties that a rule can match.
RuleSubject = Literal["tenant", "lane", "kind", "tag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuota:
    """A quota to create. Its fields are checked when it is made."""

    id: str
    tenant: str = "default"
    #: Starts are counted over this many ms.
    window_ms: int | None = None
    max_per_window: int | None = None
    max_concurrent: int | None = None

    def __post_init__(self) -> None:
        checks.name("id", self.id)
        checks.name("tenant", self.tenant)
        check_caps(self.window_ms, self.max_per_window, self.max_concurrent)

    @property
    def stored_id(self) -> str:
        """The id in the store."""
        return names.stored(self.tenant, self.id)


def check_caps(
    window_ms: int | None, max_per_window: int | None, max_concurrent: int | None
) -> None:
    """Check the limits of a quota: at least one, and a window with its number."""
    if (window_ms is None) != (max_per_window is None):
        checks.refuse("window_ms", "requires max_per_window", window_ms)
    if max_per_window is None and max_concurrent is None:
        checks.refuse("max_concurrent", "or window_ms with max_per_window is required", None)
    if window_ms is not None:
        checks.integer("window_ms", window_ms, 1, bounds.DURATION_MS)
    if max_per_window is not None:
        checks.integer("max_per_window", max_per_window, 0, bounds.QUOTA)
    if max_concurrent is not None:
        checks.integer("max_concurrent", max_concurrent, 0, bounds.QUOTA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The state of a quota."""

    #: The id as its tenant uses it.
    id: str
    tenant: str
    window_ms: int | None
    max_per_window: int | None
    max_concurrent: int | None
    created_at: datetime
    #: Executions that hold a slot now.
    running: int
    #: Starts that count against the window now.
    in_window: int
    #: Executions that wait for it.
    waiting: int
    #: Executions that it will admit and that have not been claimed yet.
    promised: int
    #: When the oldest start leaves the window.
    frees_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A limit for new executions of a tenant, lane, kind or tag."""

    subject: RuleSubject
    #: The tenant, lane or kind; a tag as NAME=VALUE, or NAME to count each value separately.
    value: str
    #: budget or quota.
    limit: Literal["budget", "quota"]
    #: NAME of the tenant `default`, or TENANT/NAME.
    id: str

    def __post_init__(self) -> None:
        checks.one_of("subject", self.subject, ("tenant", "lane", "kind", "tag"))
        checks.one_of("limit", self.limit, ("budget", "quota"))
        checks.limit(self.limit, self.id)
        object.__setattr__(self, "id", names.stored(names.DEFAULT_TENANT, self.id))
        if self.subject == "kind":
            checks.kind("kind", self.value)
        elif self.subject == "tag":
            name, equals, value = str(self.value).partition("=")
            checks.name("tag", name)
            if equals:
                checks.text("tag", value, bounds.TAG_VALUE_CHARS, empty=False)
            elif self.limit == "budget":
                checks.refuse("tag", "must be NAME=VALUE for a budget", self.value)
        else:
            checks.name(self.subject, self.value)


@dataclass(frozen=True, slots=True)
class Window:
    """Submissions with the same key within this many ms count as one."""

    key: str
    ms: int

    def __post_init__(self) -> None:
        checks.text("key", self.key, bounds.ID_CHARS, empty=False)
        checks.integer("ms", self.ms, 1, bounds.DURATION_MS)
