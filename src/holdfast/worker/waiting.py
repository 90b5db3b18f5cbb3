"""Waits of a task for people and systems: waitpoints to send out, and their answers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar, get_args
from urllib.parse import quote

import msgspec

from holdfast.api import Engine
from holdfast.errors import InvalidInput, TaskError
from holdfast.model import bounds, checks, schemas
from holdfast.model.executions import Claim
from holdfast.model.moments import from_ms
from holdfast.model.moments import to_ms as moment_ms
from holdfast.model.states import State
from holdfast.model.tokens import Grant, Token
from holdfast.model.waitpoints import Effect, NewWaitpoint, Prepared, Signal, Source
from holdfast.tracing import Trace
from holdfast.worker.durations import Duration, optional_ms
from holdfast.worker.encoding import Encoding
from holdfast.worker.outcomes import AttemptSuspended, Denied, WaitTimedOut

M = TypeVar("M")

#: What happens after the timeout; `raise` continues the task and raises WaitTimedOut in it.
OnTimeout = Literal["raise", "fail", "cancel", "expire", "escalate"]

_PUBLIC_URL = "HOLDFAST_PUBLIC_URL"


@dataclass(frozen=True)
class TaskWaitpoint(Generic[M]):
    """A waitpoint that a task created, to be sent to the people who may answer it."""

    id: str
    name: str
    #: The right to answer: `token.reveal()` returns it.
    token: Token = field(repr=False)
    schema: Any = field(default=None, repr=False)

    def link(self, base_url: str | None = None) -> str:
        """Return the URL for an answer. The token is in the fragment, which no server logs."""
        base = base_url or os.environ.get(_PUBLIC_URL)
        if not base:
            message = f"a link needs the address of the server: pass base_url, or set {_PUBLIC_URL}"
            raise TaskError(message)
        return f"{base.rstrip('/')}/answer/{quote(self.id, safe=':@~')}#{self.token.reveal()}"


class Journaled(Protocol):
    """The parts of a context that waiting needs."""

    @property
    def claim(self) -> Claim:
        """The claim."""
        ...

    @property
    def trace(self) -> Trace:
        """Its spans."""
        ...

    def holding(self) -> contextlib.AbstractContextManager[None]:
        """Make a call as the holder of the lease."""
        ...

    def number(self, name: str) -> str:
        """Return a name for the next unnamed step."""
        ...

    async def flush(self) -> None:
        """Flush buffered frames to the store."""
        ...

    async def once(self, name: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the recorded result of a step, or compute and record it."""
        ...


class WaitpointOptions(TypedDict, total=False):
    """Further options of a waitpoint."""

    #: It closes this long after its creation.
    expires: Duration | None
    #: How many signals its token allows.
    uses: int | None
    #: The signals it accepts, `*` at the end of a name stands for the rest; none means all.
    signals: Sequence[str]
    #: Identities of the sources that may answer; none means all.
    answerers: Sequence[str]
    #: What people are asked.
    title: str


class WaitOptions(TypedDict, total=False):
    """Further options of a wait."""

    #: How long to wait; by default, for ever.
    timeout: Duration | None
    on_timeout: OnTimeout
    #: What people are asked.
    title: str
    #: Identities of the sources that may answer; none means all.
    answerers: Sequence[str]


class _Came(msgspec.Struct, omit_defaults=True):
    """A signal as it is stored in the journal."""

    name: str
    payload: msgspec.Raw
    at: int
    type: str = ""
    identity: str = ""
    waitpoint: str | None = None


class Waiting:
    """The waits of one attempt."""

    def __init__(self, context: Journaled, engine: Engine) -> None:
        self._context = context
        self._engine = engine

    async def waitpoint(
        self, name: str, schema: Any, options: WaitpointOptions
    ) -> TaskWaitpoint[Any]:
        """Create a waitpoint, once in the life of the execution."""
        item = NewWaitpoint(
            name=name,
            schema=_json_schema(schema),
            expires_ms=optional_ms("expires", options.get("expires")),
            uses=options.get("uses"),
            signals=tuple(options.get("signals", ())),
            answerers=tuple(options.get("answerers", ())),
            title=options.get("title", ""),
        )
        step = self._context.number(f"waitpoint:{name}")
        claim = self._context.claim

        async def prepare() -> bytes:
            keyed = replace(item, key=f"{claim.run}:{step}")
            with self._context.holding():
                (point,) = await self._engine.waitpoints.prepare(claim.id, claim.lease, [keyed])
            # The journal stores what is needed to make the token, never the token.
            return msgspec.json.encode(point.grant())

        grant = msgspec.json.decode(await self._context.once(step, prepare), type=Grant)
        token = await self._engine.waitpoints.token_of(grant)
        return TaskWaitpoint(grant.waitpoint, grant.name, token, schema)

    async def answer(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        schema: Any,
        approvers: int | None,
        options: WaitOptions,
    ) -> Any:
        """Wait at one waitpoint; returns the payload, or those of all approvers."""
        item, schema = _item(waitpoint, schema, options)
        came = await self.until(
            [item],
            {"waitpoint": item.name}
            if approvers is None
            else approval_condition(item.name, approvers),
            step=f"wait:{item.name}",
            timeout=options.get("timeout"),
            on_timeout=options.get("on_timeout", "raise"),
            reason="signal" if approvers is None else "approval",
        )
        encoding = Encoding("schema", Any if isinstance(schema, Mapping | None) else schema)
        if approvers is None:
            return encoding.decode(came[-1].payload)
        return [encoding.decode(signal.payload) for signal in approved(came)]

    async def until(
        self,
        waitpoints: Sequence[NewWaitpoint | TaskWaitpoint[Any]],
        condition: Mapping[str, Any],
        *,
        step: str,
        timeout: Duration | None,
        on_timeout: OnTimeout,
        reason: str = "signal",
    ) -> list[Signal]:
        """Wait until a condition holds; returns its signals, the same in every attempt."""
        checks.one_of("on_timeout", on_timeout, get_args(OnTimeout))
        timeout_ms = optional_ms("timeout", timeout)
        what = step.removeprefix("wait:")
        step = self._context.number(step)
        claim = self._context.claim
        key = f"{claim.run}:{step}"

        async def wait() -> bytes:
            if claim.resumed == key:
                return _encode(claim.signals)
            await self._context.flush()
            with self._context.holding(), self._context.trace.wait(what):
                answer = await self._engine.waitpoints.suspend(
                    claim.id,
                    claim.lease,
                    [_refer(item) for item in waitpoints],
                    condition,
                    timeout_ms=timeout_ms,
                    on_timeout="resume" if on_timeout == "raise" else on_timeout,
                    reason=reason,
                    key=key,
                )
            if answer.state is State.SUSPENDED:
                raise AttemptSuspended(f"waits for {step}")
            return _encode(answer.signals)

        came = _decode(await self._context.once(step, wait))
        if came and came[-1].name == "timeout" and came[-1].waitpoint is None:
            raise WaitTimedOut(f"no answer to {step} came in time")
        return came


def unrecorded_answer(claim: Claim) -> tuple[str, bytes] | None:
    """Return the step and the result of the wait that has just ended, if it is not recorded."""
    run, _, step = (claim.resumed or "").partition(":")
    if run != str(claim.run) or step in claim.steps:
        return None
    return step, _encode(claim.signals)


def _json_schema(schema: Any) -> Any:
    """Return the JSON Schema of a type; a mapping is one already."""
    if schema is None or isinstance(schema, Mapping):
        return schema
    return schemas.checkable(Encoding("schema", schema).adapter.json_schema())


def approval_condition(name: str, approvers: int) -> Mapping[str, Any]:
    """Return the condition that this many different people approve, or one denies."""
    checks.integer("approvers", approvers, 1, bounds.BATCH_ITEMS)
    approved = {"waitpoint": name, "signal": "approve"}
    enough = {"count": approvers, "distinct": "sources", "of": [approved]}
    return {"any": [enough, {"waitpoint": name, "signal": "deny"}]}


def approved(came: Sequence[Signal]) -> list[Signal]:
    """Return the first signal of each who approved; raises Denied if one of them denied."""
    for signal in came:
        if signal.name == "deny":
            raise Denied(signal.value, signal.source)
    by_source: dict[Source, Signal] = {}
    for signal in came:
        by_source.setdefault(signal.source, signal)
    return list(by_source.values())


def _item(
    waitpoint: str | TaskWaitpoint[Any], schema: Any, options: WaitOptions
) -> tuple[NewWaitpoint | TaskWaitpoint[Any], Any]:
    """Return the waitpoint to wait at, new or prepared, and its schema."""
    title, answerers = options.get("title", ""), tuple(options.get("answerers", ()))
    if isinstance(waitpoint, str):
        item = NewWaitpoint(
            name=waitpoint, schema=_json_schema(schema), title=title, answerers=answerers
        )
        return item, schema
    if title or answerers:
        message = "set title and answerers of a prepared waitpoint in ctx.waitpoint(...)"
        raise InvalidInput(message, field="waitpoint")
    return waitpoint, waitpoint.schema if schema is None else schema


def _refer(item: NewWaitpoint | TaskWaitpoint[Any]) -> NewWaitpoint | Prepared:
    return item if isinstance(item, NewWaitpoint) else Prepared(item.id, item.name)


def _encode(signals: Sequence[Signal]) -> bytes:
    return msgspec.json.encode(
        [
            _Came(
                name=one.name,
                payload=msgspec.Raw(one.payload),
                at=moment_ms(one.at),
                type=one.source.type,
                identity=one.source.identity,
                waitpoint=one.waitpoint,
            )
            for one in signals
        ]
    )


def _decode(recorded: bytes) -> list[Signal]:
    return [
        Signal(
            name=one.name,
            payload=bytes(one.payload),
            source=Source(type=one.type, identity=one.identity),
            at=from_ms(one.at),
            effect=Effect.RESUMED,
            waitpoint=one.waitpoint,
        )
        for one in msgspec.json.decode(recorded, type=list[_Came])
    ]
