"""Short ways through waiting: waitpoints, suspensions and signals, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.model import conditions
from holdfast.model.executions import Claim
from holdfast.model.ids import new_id
from holdfast.model.moments import to_ms
from holdfast.model.waitpoints import (
    Effect,
    NewSignal,
    NewWaitpoint,
    Source,
    Suspension,
    Waitpoint,
    parse_waitpoint_id,
)
from holdfast.store.executions import Executions
from holdfast.store.keyrings import KeyRings
from holdfast.store.sessions import Sessions
from holdfast.store.store import Store
from holdfast.store.valkey.call import Caller
from holdfast.store.waitpoints import Sender, Waitpoints
from tests.support.lifecycle import claim_one, create_one

Item = str | NewWaitpoint | Waitpoint


class RecordingCaller(Caller):
    """A caller that can send its calls again, as after a lost reply."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.client, timeout_ms=5_000, loader=store.loader)
        self.calls: list[tuple[Any, ...]] = []

    async def write(self, function: str, tag: str, *args: str | bytes) -> list[Any]:
        """Call and remember."""
        self.calls.append((function, tag, *args))
        return await super().write(function, tag, *args)

    async def again(self, number: int = -1) -> list[Any]:
        """Send the last call again, or another one."""
        return await super().write(*self.calls[number])


def record_calls(store: Store) -> RecordingCaller:
    """Record the calls of a store from now on."""
    caller = RecordingCaller(store)
    store.caller = caller
    store.executions = Executions(store)
    store.sessions = Sessions(store)
    store.waitpoints = Waitpoints(store)
    store.keyrings = KeyRings(store)
    return caller


async def run_one(store: Store, **fields: Any) -> Claim:
    """Create an execution and claim it."""
    return await claim_one(store, await create_one(store, **fields))


async def prepare(store: Store, claim: Claim, *items: str | NewWaitpoint) -> list[Waitpoint]:
    """Prepare waitpoints, by name or as they are given, each under a key of its own."""
    made = [_item(item) for item in items]
    return await store.waitpoints.prepare(claim.id, claim.lease.fence, made)


async def prepare_one(store: Store, claim: Claim, name: str = "gate", **fields: Any) -> Waitpoint:
    """Prepare one waitpoint."""
    (point,) = await prepare(store, claim, NewWaitpoint(name=name, **{"key": name, **fields}))
    return point


def _item(item: str | NewWaitpoint) -> NewWaitpoint:
    return NewWaitpoint(name=item, key=f"key-{item}") if isinstance(item, str) else item


async def suspend(
    store: Store,
    claim: Claim,
    *items: Item,
    condition: Mapping[str, Any] | None = None,
    **options: Any,
) -> Suspension:
    """Suspend on waitpoints; without a condition any signal at any of them will do."""
    names = [item if isinstance(item, str) else item.name for item in items]
    parsed = conditions.parse(condition or {"any": [{"waitpoint": name} for name in names]}, names)
    made: list[NewWaitpoint | int] = [
        parse_waitpoint_id("waitpoint", item.id)[1] if isinstance(item, Waitpoint) else _item(item)
        for item in items
    ]
    defaults: dict[str, Any] = {
        "key": new_id(),
        "timeout_ms": None,
        "on_timeout": "fail",
        "reason": "signal",
    }
    return await store.waitpoints.suspend(
        claim.id, claim.lease.fence, made, parsed, names=names, **{**defaults, **options}
    )


async def suspend_one(
    store: Store, *names: Item, fields: Mapping[str, Any] | None = None, **options: Any
) -> tuple[Claim, list[Waitpoint]]:
    """Create an execution, claim it and suspend it, on `gate` unless there are names."""
    claim = await run_one(store, **(fields or {}))
    answer = await suspend(store, claim, *(names or ("gate",)), **options)
    return claim, list(answer.waitpoints)


async def send(
    store: Store,
    point: Waitpoint | str,
    name: str = "go",
    *,
    by: str = "",
    key: str | None = None,
    payload: bytes = b"null",
    sender: Sender | None = None,
) -> Effect:
    """Send a signal to a waitpoint, as an operator unless there is a sender."""
    signal = NewSignal(
        waitpoint=point if isinstance(point, str) else point.id,
        name=name,
        payload=payload,
        source=source_of(by),
        idempotency_key=key,
    )
    return await send_item(store, signal, sender or Sender())


def source_of(identity: str) -> Source:
    """Return a person, or no source."""
    return Source(type="user", identity=identity) if identity else Source()


async def send_item(store: Store, item: NewSignal, sender: Sender) -> Effect:
    """Send a signal and return what it did."""
    effect, _ = await store.waitpoints.signal(item, sender)
    return effect


def token_of(point: Waitpoint, grace_until_ms: int | None = None) -> Sender:
    """Return the sender who has proved a token of this waitpoint."""
    return Sender(made_ms=to_ms(point.created_at), grace_until_ms=grace_until_ms)


async def point_of(store: Store, point: Waitpoint | str) -> Waitpoint:
    """Return a waitpoint as it is now."""
    execution_id, number = parse_waitpoint_id("id", point if isinstance(point, str) else point.id)
    points, _ = await store.waitpoints.of(execution_id)
    return points[number - 1]


async def effects_of(store: Store, execution_id: str) -> list[tuple[str, str]]:
    """Return the names and effects of the signals of an execution, in order."""
    found = await store.waitpoints.signals(execution_id)
    return [(one.name, one.effect.value) for one in found]


async def events_of(store: Store, execution_id: str) -> list[str]:
    """Return what happened to an execution, in order."""
    return [event.event for event in await store.queries.history(execution_id)]


def names_of(signals: Sequence[Any]) -> list[str]:
    """Return the names of signals."""
    return [one.name for one in signals]
