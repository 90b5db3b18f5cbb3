"""Bodies of submissions, decoded directly into values for the engine."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, UnsetType
from msgspec.structs import asdict

from holdfast.model import bounds
from holdfast.model.bonds import OnParentEnd
from holdfast.model.executions import GIVEN, OPTIONS, NewExecution
from holdfast.model.quotas import Window
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.server.views.fields import (
    Base64,
    Body,
    Capabilities,
    DurationMs,
    Key,
    Kind,
    LimitName,
    Moment,
    Name,
    PositiveMs,
    Priority,
    Query,
    ScopedId,
    Traceparent,
    payload,
)

Attempts = Annotated[int, Meta(ge=1, le=bounds.MAX_ATTEMPTS)]
Tags = Annotated[
    dict[Name, Annotated[str, Meta(min_length=1, max_length=bounds.TAG_VALUE_CHARS)]],
    Meta(max_length=bounds.TAGS),
]


class BackoffBody(Body):
    """How long to wait before the next attempt."""

    kind: Literal["fixed", "exponential"]
    initial_ms: DurationMs
    max_ms: DurationMs = 60_000
    factor: Annotated[float, Meta(ge=1, le=1_000)] = 2.0
    #: The wait is random within base * (1 +- jitter).
    jitter: Annotated[float, Meta(ge=0, le=1)] = 0.0


class RetryBody(Body):
    """How often a failing execution is attempted."""

    #: Including the first attempt.
    max_attempts: Attempts
    backoff: BackoffBody | None = None
    #: Error types that are never retried.
    give_up_on: Annotated[tuple[Name, ...], Meta(max_length=bounds.GIVE_UP_TYPES)] = ()

    def policy(self) -> RetryPolicy:
        """Return the policy."""
        given = self.backoff
        backoff = (
            Backoff()
            if given is None
            else Backoff(
                kind=given.kind,
                initial_ms=given.initial_ms,
                max_ms=given.max_ms,
                factor=given.factor,
                jitter=given.jitter,
            )
        )
        return RetryPolicy(
            max_attempts=self.max_attempts, backoff=backoff, give_up_on=self.give_up_on
        )


class WindowBody(Body):
    """Submissions with the same key within this many ms count as one."""

    key: Key
    ms: PositiveMs

    def window(self) -> Window:
        """Return the window."""
        return Window(self.key, self.ms)


class ExecutionBody(Body):
    """An execution to create.

    Options that you omit come from the task's declaration, if a worker has published it; null is a
    value.
    """

    kind: Kind
    #: Any JSON, kept as it was written; or bytes, in `input_base64`.
    input: Raw | UnsetType = UNSET
    input_base64: Base64 | UnsetType = UNSET
    #: Generated if absent.
    id: ScopedId | None = None
    tenant: Name | None = None
    #: The task's lane if absent, or `default`.
    lane: Name | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    #: Capabilities that a worker must have.
    requires: Capabilities | UnsetType = UNSET
    delay_ms: DurationMs | None = None
    run_at: Moment | None = None
    #: It expires this long after its creation, regardless of its state.
    deadline_ms: PositiveMs | UnsetType | None = UNSET
    attempt_timeout_ms: PositiveMs | UnsetType | None = UNSET
    retry: RetryBody | UnsetType | None = UNSET
    max_reclaims: Annotated[int, Meta(ge=0, le=bounds.MAX_RECLAIMS)] | UnsetType | None = UNSET
    max_replays: Annotated[int, Meta(ge=0, le=bounds.MAX_REPLAYS)] | None = None
    idempotency_key: Key | None = None
    tags: Tags | UnsetType = UNSET
    retention_ms: DurationMs | UnsetType | None = UNSET
    #: Budgets that it charges; it starts only while each has something left.
    budgets: Annotated[tuple[LimitName, ...], Meta(max_length=bounds.BUDGETS)] | UnsetType = UNSET
    #: Quotas that must admit it before it starts.
    quotas: Annotated[tuple[LimitName, ...], Meta(max_length=bounds.QUOTAS)] | UnsetType = UNSET
    #: The URL of a webhook that is called when it has ended.
    on_end: Annotated[str, Meta(max_length=bounds.URL_CHARS)] | UnsetType | None = UNSET
    #: What happens to a child when its parent ends. Children have ids PARENT~REPLAY.NUMBER.
    on_parent_end: OnParentEnd | UnsetType = UNSET
    #: The last submission with this key runs, once no other has arrived for the window.
    debounce: WindowBody | None = None
    #: The first submission with this key runs; others within its window return it.
    throttle: WindowBody | None = None
    #: The W3C trace context; the header of the same name if absent.
    traceparent: Traceparent | None = None
    #: False skips the check of the input against the published schema of the task.
    check: bool = True

    def item(self, tenant: str, traceparent: str | None = None) -> NewExecution:
        """Return the value for the engine."""
        if self == ExecutionBody(kind=self.kind, input=self.input):
            # Most bodies have nothing else, and what they have in common is checked once.
            given = payload("input", self.input, UNSET)
            return _simple(self.kind, tenant).with_input(given, traceparent)
        fields: dict[str, Any] = {
            name: value
            for name, value in asdict(self).items()
            if value is not UNSET and (value is not None or name in OPTIONS) and name in _GIVEN
        }
        fields["input"] = payload("input", self.input, self.input_base64)
        fields["tenant"] = tenant
        if isinstance(self.retry, RetryBody):
            fields["retry"] = self.retry.policy()
        if self.debounce is not None:
            fields["debounce"] = self.debounce.window()
        if self.throttle is not None:
            fields["throttle"] = self.throttle.window()
        if traceparent is not None:
            fields.setdefault("traceparent", traceparent)
        return NewExecution(unset=OPTIONS.difference(fields), **fields)


_GIVEN = frozenset(GIVEN)


@lru_cache(1_000)
def _simple(kind: str, tenant: str) -> NewExecution:
    return NewExecution(kind=kind, tenant=tenant, unset=OPTIONS)


class CheckQuery(Query):
    """Whether inputs are checked against the published schemas."""

    check: bool = True

    def apply(self, item: NewExecution) -> NewExecution:
        """Return the item with the setting of the query."""
        return item if self.check else item.unchecked()


class BatchBody(Body):
    """Executions to create, each accepted or refused independently."""

    items: Annotated[list[ExecutionBody], Meta(max_length=bounds.BATCH_ITEMS)]


class RawBatchBody(Body):
    """The same, with undecoded items, so that an invalid item does not refuse the others."""

    items: Annotated[list[Raw], Meta(max_length=bounds.BATCH_ITEMS)]
