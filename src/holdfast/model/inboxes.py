"""Signals to an execution itself, which its code receives one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.conditions import signal_name
from holdfast.model.executions import Lease
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.waitpoints import Effect, Signal, Source, check_signal


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSignal:
    """A signal to send to an execution."""

    execution_id: str
    name: str
    #: JSON.
    payload: bytes = b"null"
    source: Source = field(default_factory=Source)
    #: A second signal with the same key has no effect.
    idempotency_key: str | None = None
    correlation: str = ""

    def __post_init__(self) -> None:
        checks.execution_id("id", self.execution_id)
        check_signal(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A signal to receive by the holder of a lease, who records it as a step."""

    execution_id: str
    lease: Lease
    #: The names of the signals; none means all.
    names: Sequence[str]
    step: str

    def __post_init__(self) -> None:
        checks.execution_id("id", self.execution_id)
        checks.instance("lease", self.lease, Lease)
        checks.text("step", self.step, bounds.STEP_NAME_CHARS, empty=False)
        object.__setattr__(self, "names", check_names(self.names))


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of the signals that an execution receives; none means all."""
    if isinstance(names, str) or len(names) > bounds.SIGNAL_NAMES:
        checks.refuse("names", f"must be a list of at most {bounds.SIGNAL_NAMES}", names)
    return tuple(signal_name("names", name) for name in names)


class _Received(msgspec.Struct, omit_defaults=True):
    """A received signal as the journal keeps it."""

    name: str
    payload: msgspec.Raw
    at: int
    type: str = ""
    identity: str = ""
    key: str | None = None
    correlation: str | None = None


def encode_received(signal: Signal) -> bytes:
    """Encode a received signal for the journal."""
    return msgspec.json.encode(
        _Received(
            name=signal.name,
            payload=msgspec.Raw(signal.payload),
            at=to_ms(signal.at),
            type=signal.source.type,
            identity=signal.source.identity,
            key=signal.idempotency_key,
            correlation=signal.correlation,
        )
    )


def decode_received(recorded: bytes) -> Signal | None:
    """Decode a step of the journal: a signal, or None if none came in time."""
    found = msgspec.json.decode(recorded, type=_Received | None)
    if found is None:
        return None
    return Signal(
        name=found.name,
        payload=bytes(found.payload),
        source=Source(type=found.type, identity=found.identity),
        at=from_ms(found.at),
        effect=Effect.BUFFERED,
        idempotency_key=found.key,
        correlation=found.correlation,
    )
