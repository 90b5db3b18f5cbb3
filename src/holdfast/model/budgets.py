"""Values that describe budgets: limits by dimension, usage, breaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from holdfast.model import bounds, checks, names
from holdfast.model.executions import Lease
from holdfast.model.states import State

#: Amounts by dimension, such as tokens, calls, or money in millionths.
Usage = Mapping[str, int]


class OnHard(StrEnum):
    """What happens to an execution that would exceed a hard limit."""

    #: Its charge is refused; the task decides what to do.
    REFUSE = "refuse"
    #: It asks for more at a waitpoint, and waits for the answer: a new limit.
    SUSPEND = "suspend"
    #: It is cancelled, together with the rest of its graph.
    CANCEL = "cancel"


class ChargeStatus(StrEnum):
    """The answer to a report, a reservation or a settlement."""

    OK = "ok"
    #: Charged, and now above a soft limit.
    SOFT_BREACH = "soft_breach"
    #: Refused: the charge would exceed a hard limit. Nothing was charged.
    HARD_BREACH = "hard_breach"
    #: The key was used before; nothing was charged again.
    ALREADY_APPLIED = "already_applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limits of one dimension; absent means no limit."""

    #: Usage and reservations never exceed it.
    hard: int | None = None
    #: Exceeding it is reported, not refused.
    soft: int | None = None

    def __post_init__(self) -> None:
        for name in ("hard", "soft"):
            value = getattr(self, name)
            if value is not None:
                checks.integer(name, value, 0, bounds.AMOUNT)

    @classmethod
    def checked(cls, field_name: str, value: Any) -> Self:
        """Make one from a mapping, or return an existing one."""
        if isinstance(value, cls):
            return value
        given = checks.mapping(field_name, value)
        checks.known_fields(field_name, given, ("hard", "soft"))
        return cls(**given)


def checked_limits(value: Any) -> dict[str, Limit]:
    """Check limits by dimension."""
    given = checks.mapping("limits", value)
    if len(given) > bounds.DIMENSIONS:
        checks.refuse("limits", f"must have at most {bounds.DIMENSIONS} dimensions", given)
    return {
        checks.name("dimension", name): Limit.checked(f"limits[{name}]", limit)
        for name, limit in given.items()
    }


def checked_usage(value: Any) -> dict[str, int]:
    """Check amounts by dimension: whole numbers from 0."""
    given = checks.mapping("usage", value)
    if not 1 <= len(given) <= bounds.DIMENSIONS:
        checks.refuse("usage", f"must have 1 to {bounds.DIMENSIONS} dimensions", given)
    return {
        checks.name("dimension", name): checks.integer(f"usage[{name}]", amount, 0, bounds.AMOUNT)
        for name, amount in given.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBudget:
    """A budget to create. Its fields are checked when it is made."""

    id: str
    tenant: str = "default"
    #: Charges also count against this budget and its ancestors; TENANT/NAME for another tenant's.
    parent: str | None = None
    limits: Mapping[str, Limit] = field(default_factory=dict)
    #: Its usage is reset each time this has passed.
    reset_ms: int | None = None
    on_hard: OnHard = OnHard.REFUSE

    def __post_init__(self) -> None:
        checks.name("id", self.id)
        checks.name("tenant", self.tenant)
        if self.parent is not None:
            checks.limit("parent", self.parent)
            if self.stored_parent == self.stored_id:
                checks.refuse("parent", "must name a different budget", self.parent)
        object.__setattr__(self, "limits", checked_limits(self.limits))
        if self.reset_ms is not None:
            checks.integer("reset_ms", self.reset_ms, bounds.RESET_MIN_MS, bounds.DURATION_MS)
        word = checks.one_of("on_hard", self.on_hard, list(OnHard))
        object.__setattr__(self, "on_hard", OnHard(word))

    @property
    def stored_id(self) -> str:
        """The id in the store."""
        return names.stored(self.tenant, self.id)

    @property
    def stored_parent(self) -> str | None:
        """The id of the parent in the store."""
        return None if self.parent is None else names.stored(self.tenant, self.parent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expense:
    """What the holder of a lease charges to the budgets of its execution."""

    execution_id: str
    lease: Lease
    usage: Usage
    #: It is charged once per key.
    key: str
    #: One of the budgets; None means all.
    budget: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "usage", checked_usage(self.usage))
        checked_key(self.key)
        checks.execution_id("id", self.execution_id)
        checks.instance("lease", self.lease, Lease)
        if self.budget is not None:
            checks.limit("budget", self.budget)


def checked_key(key: str) -> str:
    """Check the key of a charge."""
    return checks.text("key", key, bounds.ID_CHARS, empty=False)


def check_ttl(ttl_ms: int) -> None:
    """Check how long a reservation lasts."""
    checks.integer("ttl_ms", ttl_ms, 1, bounds.RESERVATION_MAX_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """An event: a charge exceeded a limit, or would have."""

    at: datetime
    #: hard or soft.
    kind: str
    dimension: str
    #: The usage before the refused charge for a hard breach, after the charge for a soft one.
    current: int
    limit: int
    #: The execution that caused it.
    execution: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaches:
    """How often limits were exceeded."""

    hard: int
    soft: int
    last: Breach | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The state of a budget."""

    #: The id as its tenant uses it; the parent likewise.
    id: str
    tenant: str
    parent: str | None
    limits: Mapping[str, Limit]
    #: Without dimensions that have no usage; `reserved` likewise.
    usage: Usage
    #: Amounts that are reserved and not yet settled.
    reserved: Usage
    on_hard: OnHard
    reset_ms: int | None
    next_reset_at: datetime | None
    created_at: datetime
    breaches: Breaches
    #: Dimensions that have exceeded their soft limit since the last reset.
    over_soft: tuple[str, ...]
    #: Executions that do not start because nothing is left.
    waiting: int

    def __post_init__(self) -> None:
        for name in ("usage", "reserved"):
            amounts = {key: amount for key, amount in getattr(self, name).items() if amount}
            object.__setattr__(self, name, amounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The answer to a report or a settlement."""

    status: ChargeStatus
    #: For a breach: the budget with the exceeded limit, which may be an ancestor.
    budget: str | None = None
    dimension: str | None = None
    current: int | None = None
    limit: int | None = None
    on_hard: OnHard | None = None
    #: For a hard breach that ended the lease: suspended or cancelled.
    state: State | None = None
    #: For a suspended execution: the waitpoint where it asks for more.
    waitpoint: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the amount was charged, now or by an earlier call."""
        return self.status is not ChargeStatus.HARD_BREACH


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation(Charge):
    """The answer to a reservation."""

    reserved: Usage = field(default_factory=dict)
