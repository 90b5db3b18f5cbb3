"""Decode replies into the values that the engine returns."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from holdfast.model.executions import Claim, Event, Execution, ExecutionId, Lease, Step
from holdfast.model.explanations import Explanation
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.session_keys import SessionKey, SessionRef
from holdfast.model.states import AttemptKind, State
from holdfast.model.waitpoints import Effect, Signal, Source

_MOMENTS = ("until", "expires_at")
_encode = msgspec.json.encode


def moment(text: str) -> datetime:
    """Read a time."""
    return from_ms(to_ms(datetime.fromisoformat(text)))


def optional_moment(text: str | None) -> datetime | None:
    """Read a time that may be absent."""
    return None if text is None else moment(text)


def payload(view: Mapping[str, Any], name: str) -> bytes:
    """Read a payload: JSON, or bytes in base64."""
    encoded = view.get(f"{name}_base64")
    if encoded is not None:
        return base64.b64decode(encoded)
    value = view[name]
    return bytes(value) if isinstance(value, msgspec.Raw) else _encode(value)


def execution(view: dict[str, Any]) -> Execution:
    """Read a description."""
    progress = view["progress"]
    flat = view | {"progress_pct": progress["pct"], "progress_message": progress["message"]}
    return msgspec.convert(flat, Execution)


class _SignalReply(msgspec.Struct):
    name: str
    payload: msgspec.Raw
    source: dict[str, str]
    at: str
    effect: str
    waitpoint: str | None = None
    idempotency_key: str | None = None
    correlation: str | None = None

    def signal(self) -> Signal:
        return Signal(
            name=self.name,
            payload=bytes(self.payload),
            source=Source(**self.source),
            at=moment(self.at),
            effect=Effect(self.effect),
            waitpoint=self.waitpoint,
            idempotency_key=self.idempotency_key,
            correlation=self.correlation,
        )


class _SignalsReply(msgspec.Struct):
    items: list[_SignalReply] = msgspec.field(default_factory=list)
    signals: list[_SignalReply] = msgspec.field(default_factory=list)


_signals = msgspec.json.Decoder(_SignalsReply).decode


def signals(data: bytes, name: Literal["items", "signals"]) -> tuple[Signal, ...]:
    """Read signals; payloads stay as they were written."""
    replies: list[_SignalReply] = getattr(_signals(data), name)
    return tuple(reply.signal() for reply in replies)


class _ReceivedReply(msgspec.Struct):
    signal: _SignalReply | None


def received(data: bytes) -> Signal | None:
    """Read the signal that a step records."""
    reply = msgspec.json.decode(data, type=_ReceivedReply).signal
    return None if reply is None else reply.signal()


class _ClaimedReply(msgspec.Struct):
    execution: dict[str, Any]
    attempt: dict[str, Any]
    lease: dict[str, Any]
    input: msgspec.Raw
    steps: dict[str, msgspec.Raw]
    input_base64: str | None = None
    steps_base64: dict[str, str] = msgspec.field(default_factory=dict)
    signals: list[_SignalReply] = msgspec.field(default_factory=list)
    resumed: str | None = None
    continued: int = 0
    session: dict[str, Any] | None = None
    kept: bool = False


class _ClaimsReply(msgspec.Struct):
    claims: list[_ClaimedReply]
    draining: bool = False


_claims = msgspec.json.Decoder(_ClaimsReply).decode


def claims(data: bytes) -> tuple[list[Claim], bool]:
    """Read claims, and whether the worker is draining; payloads stay as they were written."""
    reply = _claims(data)
    return [_claim(claimed) for claimed in reply.claims], reply.draining


def _claim(claimed: _ClaimedReply) -> Claim:
    about, lease = claimed.execution, claimed.lease
    encoded = claimed.input_base64
    steps = {
        name: base64.b64decode(claimed.steps_base64[name])
        if name in claimed.steps_base64
        else bytes(result)
        for name, result in claimed.steps.items()
    }
    return Claim(
        id=ExecutionId(about["id"]),
        tenant=about["tenant"],
        lane=about["lane"],
        kind=about["kind"],
        input=bytes(claimed.input) if encoded is None else base64.b64decode(encoded),
        lease=Lease(lease["id"], lease["epoch"], lease["attempt"]),
        expires_at=moment(lease["expires_at"]),
        attempt_kind=AttemptKind(claimed.attempt["kind"]),
        priority=about["priority"],
        requires=tuple(about["requires"]),
        tags=about["tags"],
        created_at=moment(about["created_at"]),
        deadline_at=optional_moment(about["deadline_at"]),
        timeout_at=optional_moment(about["timeout_at"]),
        replays=about["replays"],
        traceparent=about.get("traceparent"),
        steps=steps,
        signals=tuple(signal.signal() for signal in claimed.signals),
        resumed=claimed.resumed,
        continued=claimed.continued,
        session=_session(claimed.session),
        kept=claimed.kept,
    )


def _session(view: Mapping[str, Any] | None) -> SessionRef | None:
    if view is None:
        return None
    return SessionRef(id=view["id"], key=session_key(view), turn=view["turn"])


_KEY = ("tenant", "env", "endpoint", "conversation", "user")


def session_key(view: Mapping[str, Any]) -> SessionKey:
    """Read whose session it is."""
    return SessionKey(**{name: view[name] for name in _KEY})


def event(view: dict[str, Any]) -> Event:
    """Read an event."""
    data = {name: value for name, value in view.items() if name not in {"at", "event"}}
    for name in ("retry_at", "run_at"):
        if name in data:
            data[name] = moment(data[name])
    return Event(at=moment(view["at"]), event=view["event"], data=data)


class _StepReply(msgspec.Struct):
    name: str
    at: str
    result: msgspec.Raw
    result_base64: str | None = None


class _StepsReply(msgspec.Struct):
    items: list[_StepReply]


_steps = msgspec.json.Decoder(_StepsReply).decode


def steps(data: bytes) -> list[Step]:
    """Read recorded steps; results stay as they were written."""
    return [
        Step(
            name=step.name,
            at=moment(step.at),
            result=bytes(step.result)
            if step.result_base64 is None
            else base64.b64decode(step.result_base64),
        )
        for step in _steps(data).items
    ]


class _RecordedReply(msgspec.Struct):
    result: msgspec.Raw
    result_base64: str | None = None


_recorded = msgspec.json.Decoder(_RecordedReply).decode


def recorded(data: bytes) -> bytes:
    """Read the recorded result of a step."""
    reply = _recorded(data)
    if reply.result_base64 is not None:
        return base64.b64decode(reply.result_base64)
    return bytes(reply.result)


def explanation(view: Mapping[str, Any]) -> Explanation:
    """Read why an execution is not running."""
    holds = [
        {
            name: optional_moment(value) if name in _MOMENTS else value
            for name, value in hold.items()
            if name != "target"
        }
        for hold in view["holds"]
    ]
    return Explanation(state=State(view["state"]), why=view["why"], holds=holds)
