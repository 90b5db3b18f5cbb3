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
from holdfast.worker.outcomes import AttemptSuspended, Denied, NotApproved, WaitTimedOut

M = TypeVar("M")

#: What happens after the timeout; `raise` continues the task and raises WaitTimedOut in it.
OnTimeout = Literal["raise", "fail", "cancel", "expire", "escalate"]

#: How many different sources must approve, or the names of the people who may.
Approvers = int | Sequence[str]

_PUBLIC_URL = "HOLDFAST_PUBLIC_URL"


@dataclass(frozen=True)
class TaskWaitpoint(Generic[M]):
    """A waitpoint that a task created, to be sent to the people who may answer it."""

    id: str
    name: str
    #: The right to answer, by person; without approvers, one for all under an empty name.
    tokens: Mapping[str, Token] = field(repr=False)
    schema: Any = field(default=None, repr=False)

    @property
    def token(self) -> Token:
        """The right to answer: `token.reveal()` returns it."""
        if "" not in self.tokens:
            message = f"each approver of {self.name} has a token: use tokens or links(), by person"
            raise TaskError(message)
        return self.tokens[""]

    def link(self, base_url: str | None = None) -> str:
        """Return the URL for an answer. The token is in the fragment, which no server logs."""
        return self._link(self.token, base_url)

    def links(self, base_url: str | None = None) -> dict[str, str]:
        """Return the URL of each approver, by person. Each answers only as that person."""
        return {person: self._link(token, base_url) for person, token in self.tokens.items()}

    def _link(self, token: Token, base_url: str | None) -> str:
        base = base_url or os.environ.get(_PUBLIC_URL)
        if not base:
            message = f"a link needs the address of the server: pass base_url, or set {_PUBLIC_URL}"
            raise TaskError(message)
        return f"{base.rstrip('/')}/answer/{quote(self.id, safe=':@~')}#{token.reveal()}"


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
    #: Identities of the sources that may answer, as senders state them; none means all.
    answerers: Sequence[str]
    #: The people who may answer, each with a token of their own that proves who answers.
    approvers: Sequence[str]
    #: What people are asked.
    title: str
    #: The URL of a webhook that is called with the tokens once the waitpoint can be answered.
    on_open: str


class WaitOptions(TypedDict, total=False):
    """Further options of a wait."""

    #: How long to wait; by default, for ever.
    timeout: Duration | None
    on_timeout: OnTimeout
    #: What people are asked.
    title: str
    #: Identities of the sources that may answer, as senders state them; none means all.
    answerers: Sequence[str]
    #: The URL of a webhook that is called with the tokens once the waitpoint can be answered.
    on_open: str


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
            **people(options.get("answerers", ()), options.get("approvers", ())),
            title=options.get("title", ""),
            on_open=options.get("on_open"),
        )
        step = self._context.number(f"waitpoint:{name}")
        claim = self._context.claim

        async def prepare() -> bytes:
            keyed = replace(item, key=f"{claim.run}:{step}")
            with self._context.holding():
                (point,) = await self._engine.waitpoints.prepare(claim.id, claim.lease, [keyed])
            # The journal stores what is needed to make the token, never the token.
            if point.personal:
                return msgspec.json.encode([point.grant(person) for person in point.answerers])
            return msgspec.json.encode(point.grant())

        grants = _grants(await self._context.once(step, prepare))
        tokens = {grant.person: await self._engine.waitpoints.token_of(grant) for grant in grants}
        return TaskWaitpoint(grants[0].waitpoint, grants[0].name, tokens, schema)

    async def answer(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        schema: Any,
        approvers: Approvers | None,
        need: int | None,
        options: WaitOptions,
    ) -> Any:
        """Wait at one waitpoint; returns the payload, or those of all approvers."""
        named = () if isinstance(approvers, int | None) else _names(approvers)
        item, schema = _item(waitpoint, schema, named, options)
        need = _needed(approvers, need, named or tuple(getattr(item, "tokens", ())))
        came = await self.until(
            [item],
            {"waitpoint": item.name} if need is None else approval_condition(item.name, need),
            step=f"wait:{item.name}",
            timeout=options.get("timeout"),
            on_timeout=options.get("on_timeout", "raise"),
            reason="signal" if need is None else "approval",
        )
        encoding = Encoding("schema", Any if isinstance(schema, Mapping | None) else schema)
        if need is None:
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

        came = signals_of(await self._context.once(step, wait))
        if is_timeout(came):
            raise WaitTimedOut(f"no answer to {step} came in time")
        return came


def is_timeout(came: Sequence[Signal]) -> bool:
    """Whether a wait ended because its time was over."""
    return bool(came) and came[-1].name == "timeout" and came[-1].waitpoint is None


def unrecorded_answer(claim: Claim) -> tuple[str, bytes] | None:
    """Return the step and the result of the wait that has just ended, if it is not recorded."""
    run, _, step = (claim.resumed or "").partition(":")
    if run != str(claim.run) or step in claim.steps:
        return None
    return step, _encode(claim.signals)


def _grants(recorded: bytes) -> list[Grant]:
    """Return the grants of a waitpoint from the journal: one for each person, or the only one."""
    if recorded.startswith(b"[["):
        return msgspec.json.decode(recorded, type=list[Grant])
    return [msgspec.json.decode(recorded, type=Grant)]


def _json_schema(schema: Any) -> Any:
    """Return the JSON Schema of a type; a mapping is one already."""
    if schema is None or isinstance(schema, Mapping):
        return schema
    return schemas.checkable(Encoding("schema", schema).adapter.json_schema())


def _names(approvers: object) -> tuple[str, ...]:
    if not isinstance(approvers, list | tuple) or not approvers:
        checks.refuse("approvers", "must be a number, or a list of names", approvers)
    return tuple(approvers)


def people(answerers: Sequence[str], approvers: Sequence[str]) -> dict[str, Any]:
    """Return who may answer, as fields of a waitpoint."""
    if answerers and approvers:
        checks.refuse("answerers", "cannot be combined with the names of approvers", answerers)
    return {"answerers": tuple(approvers or answerers), "personal": bool(approvers)}


def _needed(approvers: Approvers | None, need: int | None, named: Sequence[str]) -> int | None:
    """Return how many must approve, or None if any signal is an answer."""
    if isinstance(approvers, int):
        if need is not None:
            checks.refuse("need", "is for approvers who are named", need)
        return approvers
    if need is None:
        return None if approvers is None else len(named)
    if named in {(), ("",)}:
        checks.refuse("need", "is for approvers who are named", need)
    return checks.integer("need", need, 1, len(named))


def approval_condition(name: str, count: int) -> Mapping[str, Any]:
    """Return the condition that this many different people approve, or one denies."""
    checks.integer("approvers", count, 1, bounds.BATCH_ITEMS)
    approved = {"waitpoint": name, "signal": "approve"}
    enough = {"count": count, "distinct": "sources", "of": [approved]}
    return {"any": [enough, {"waitpoint": name, "signal": "deny"}]}


def approved(came: Sequence[Signal]) -> list[Signal]:
    """Return the first signal of each who approved.

    Raises Denied if one of them denied, and NotApproved if an operator ended the wait.
    """
    for signal in came:
        if signal.name == "deny":
            raise Denied(signal.value, signal.source)
        if signal.name == "resume":
            raise NotApproved(signal.value, signal.source)
    by_source: dict[Source, Signal] = {}
    for signal in came:
        by_source.setdefault(signal.source, signal)
    return list(by_source.values())


def _item(
    waitpoint: str | TaskWaitpoint[Any], schema: Any, approvers: Sequence[str], options: WaitOptions
) -> tuple[NewWaitpoint | TaskWaitpoint[Any], Any]:
    """Return the waitpoint to wait at, new or prepared, and its schema."""
    title, answerers = options.get("title", ""), options.get("answerers", ())
    if isinstance(waitpoint, str):
        item = NewWaitpoint(
            name=waitpoint,
            schema=_json_schema(schema),
            title=title,
            on_open=options.get("on_open"),
            **people(answerers, approvers),
        )
        return item, schema
    if title or answerers or approvers or "on_open" in options:
        message = "set title, answerers, approvers and on_open in ctx.waitpoint(...)"
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


def signals_of(recorded: bytes) -> list[Signal]:
    """Decode what a wait for signals recorded."""
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
