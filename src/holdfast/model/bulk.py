"""Bulk actions: the same action on every execution that matches a filter.

A bulk action is itself an execution, so it continues after a crash and shows how far it is. Its
request and its progress are in a record of its own, because every client can submit an execution of
this kind with any input.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.executions import Execution, NewExecution
from holdfast.model.ids import new_id
from holdfast.model.listing import Filter, Total
from holdfast.model.names import DEFAULT_TENANT, parse_id, stored_id
from holdfast.model.states import TERMINAL, State

#: The executions that carry bulk actions out.
KIND = "holdfast.bulk"
LANE = "holdfast.bulk"

DEFAULT_RATE = 50
#: Actions on one page happen at the same time, and a crash repeats at most one page.
MOST_ON_PAGE = 100
#: Executions that a dry run shows.
SAMPLE = 10
#: Refusals that are kept in words; all are counted.
_KEPT_REFUSALS = 50
#: The number of executions may differ from the expected one by a tenth, if there are many.
_TOLERANCE = 10
#: Fields of a filter that select nothing.
_NOT_SELECTING = frozenset({"tenant", "oldest"})


class BulkAction(StrEnum):
    """What to do with each execution."""

    CANCEL = "cancel"
    REPLAY = "replay"
    PRIORITIZE = "prioritize"
    RESUBMIT = "resubmit"

    @property
    def states(self) -> frozenset[State]:
        """The states in which an execution allows it."""
        if self is BulkAction.RESUBMIT:
            return frozenset(State)
        return TERMINAL if self is BulkAction.REPLAY else frozenset(State) - TERMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBulk:
    """A bulk action to start."""

    action: BulkAction
    #: The executions; of the tenant `default`, if it names none.
    wanted: Filter
    reason: str = ""
    #: For `prioritize`.
    priority: int | None = None
    #: How many executions to act on in a second, at most.
    rate: int = DEFAULT_RATE
    #: Refuse to start if clearly more or fewer executions match.
    expected: int | None = None
    #: Makes the call safe to repeat.
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        checks.one_of("action", self.action, list(BulkAction))
        checks.instance("filter", self.wanted, Filter)
        checks.text("reason", self.reason, bounds.BULK_REASON_CHARS)
        checks.integer("rate", self.rate, 1, bounds.BULK_RATE)
        checks.name("id", self.id)
        if self.expected is not None:
            checks.integer("expected", self.expected, 0, bounds.AMOUNT)
        if (self.priority is None) == (self.action == BulkAction.PRIORITIZE):
            needed = "is needed" if self.priority is None else "cannot be combined"
            checks.refuse("priority", f"{needed} with the action {self.action}", self.priority)
        if self.priority is not None:
            checks.integer("priority", self.priority, -bounds.PRIORITY, bounds.PRIORITY)
        if not self._is_selective:
            message = "filter: name at least one property of the executions, such as their state"
            raise InvalidInput(message, field="filter")
        _ = self.matching

    @property
    def _is_selective(self) -> bool:
        names = [one.name for one in fields(Filter) if one.name not in _NOT_SELECTING]
        return any(getattr(self.wanted, name) not in {None, ()} for name in names)

    @property
    def tenant(self) -> str:
        """The tenant of the executions, and of the bulk action."""
        return self.wanted.tenant or DEFAULT_TENANT

    @property
    def matching(self) -> Filter:
        """The filter, narrowed to executions that the action can be done to, the oldest first."""
        given = frozenset(self.wanted.every_state or State)
        allowed = self.action.states & given
        if not allowed:
            checks.refuse("state", f"allows no {self.action}", sorted(given))
        # Without a state, an index of all executions serves.
        states = () if len(allowed) == len(State) else tuple(sorted(allowed))
        return replace(self.wanted, tenant=self.tenant, state=None, states=states, oldest=True)

    def fits(self, total: Total) -> bool:
        """Whether about as many executions match as the caller expects."""
        if self.expected is None:
            return True
        return abs(total.count - self.expected) <= self.expected // _TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a bulk action would act on."""

    total: Total
    #: The first ones.
    sample: tuple[Execution, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An execution that did not allow the action."""

    id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """A bulk action and its progress."""

    id: str
    tenant: str
    action: BulkAction
    #: Narrowed to the states that allow the action.
    wanted: Filter
    reason: str
    priority: int | None
    rate: int
    #: The API key that started it, or who else.
    by: str
    started_at: datetime
    #: How many executions matched when it started; with `exact` false, at least this many.
    matched: int
    exact: bool
    #: How many executions it has acted on.
    done: int = 0
    #: How many did not allow it, and of these how many for each reason.
    refused: int = 0
    refusals: Mapping[str, int] = field(default_factory=dict)
    #: The first of them.
    refused_items: tuple[Refusal, ...] = ()
    #: The state of its execution.
    state: State = State.WAITING
    #: The page that is being acted on, where the next one begins, and whether there is none.
    pending: tuple[str, ...] = ()
    cursor: str | None = None
    is_last: bool = False

    @property
    def is_over(self) -> bool:
        """Whether all executions have been considered."""
        return self.is_last and not self.pending

    @property
    def execution(self) -> str:
        """The stored id of the execution that carries it out."""
        return stored_id(self.tenant, self.id)

    @property
    def pct(self) -> float:
        """How much of it is done, in percent."""
        if self.is_over:
            return 100.0
        return min(99.0, 100.0 * (self.done + self.refused) / max(1, self.matched))

    @property
    def summary(self) -> str:
        """How far it is, in words."""
        of = f"{self.matched:,}" if self.exact else f"{self.matched:,} or more"
        refused = f", {self.refused:,} refused" if self.refused else ""
        return f"{self.action}: {self.done:,} of {of}{refused}"

    @property
    def page_size(self) -> int:
        """How many executions to act on at the same time: those of a second, within a bound."""
        return min(self.rate, MOST_ON_PAGE)

    @property
    def note(self) -> str:
        """The reason in the history of each execution."""
        return f"bulk {self.id}: {self.reason}" if self.reason else f"bulk {self.id}"

    def copy_id(self, execution_id: str) -> str:
        """Return the id of the copy that `resubmit` makes; the same for the same execution."""
        digest = hashlib.sha256(execution_id.encode()).hexdigest()[:20]
        return f"{self._copies}{digest}"

    @property
    def _copies(self) -> str:
        return f"bulk-{self.id}-"

    def made(self, execution_id: str) -> bool:
        """Whether an execution is its own, or one of its copies."""
        return execution_id == self.execution or parse_id(execution_id)[1].startswith(self._copies)

    def acted(self, refusals: Sequence[Refusal]) -> Bulk:
        """Return it after its page; all executions of the page but these allowed the action."""
        counts = Counter(self.refusals)
        counts.update(refusal.code for refusal in refusals)
        return replace(
            self,
            done=self.done + len(self.pending) - len(refusals),
            refused=self.refused + len(refusals),
            refusals=dict(counts),
            refused_items=(*self.refused_items, *refusals)[:_KEPT_REFUSALS],
            pending=(),
        )

    def turned(self, page: Sequence[str], cursor: str | None) -> Bulk:
        """Return it with its next page."""
        return replace(self, pending=tuple(page), cursor=cursor, is_last=cursor is None)


class Errand(msgspec.Struct):
    """The input of the execution."""

    bulk: str


def begun(new: NewBulk, total: Total, by: str, now: datetime) -> Bulk:
    """Return a bulk action at its beginning."""
    return Bulk(
        id=new.id,
        tenant=new.tenant,
        action=BulkAction(new.action),
        wanted=new.matching,
        reason=new.reason,
        priority=new.priority,
        rate=new.rate,
        by=by,
        started_at=now,
        matched=total.count,
        exact=total.exact,
    )


def errand_of(bulk: Bulk) -> NewExecution:
    """Return the execution that carries a bulk action out; the same for the same action."""
    return NewExecution(
        kind=KIND,
        lane=LANE,
        id=bulk.execution,
        tenant=bulk.tenant,
        input=msgspec.json.encode(Errand(bulk.id)),
        max_reclaims=bounds.MAX_RECLAIMS,
        tags={"action": bulk.action},
    )
