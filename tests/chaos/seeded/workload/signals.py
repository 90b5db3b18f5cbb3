"""Signals to executions and answers at waitpoints: each counts once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.errors import NotFound
from holdfast.model.waitpoints import Effect, NewSignal, waitpoint_id
from holdfast.testing.polling import wait_for
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import Call, happened
from tests.chaos.seeded.workload.workload import Dump, Workload, completed, encode, records

_SIGNALS = 3


class Signals(Workload):
    """Executions that wait for signals, and clients that send each signal until it has arrived."""

    @override
    async def act(self, engine: Engine, client: str) -> None:
        waiting = [call.key for call in self.history.of("wait") if call.is_ok]
        if waiting and self.random.random() < 0.7:
            await self._send(engine, client, self.random.choice(waiting))
        else:
            key = self.new_key(client)
            kind = self.random.choice(["gate", "question"])
            given = {"signals": _SIGNALS} if kind == "gate" else {}
            fields = {"id": key, "input": encode(given), "max_reclaims": RECLAIMS, "retry": QUICK}
            await self.history.call(
                client, "wait", key, engine.submit(kind, **fields), kind=kind, check=False
            )

    async def _send(self, engine: Engine, client: str, key: str) -> None:
        await self._signal(engine, client, key, self.random.choice(_names(key)))

    async def _signal(self, engine: Engine, client: str, key: str, name: str) -> bool:
        """Send a signal; returns whether there is no need to send it again."""
        kind = next(call.facts["kind"] for call in self.history.of("wait") if call.key == key)
        if kind == "gate":
            work = engine.signal(key, "go", encode(name), idempotency_key=name)
        else:
            item = NewSignal(
                waitpoint=waitpoint_id(key, 1),
                name="answer",
                payload=encode(name),
                idempotency_key=name,
            )
            work = engine.waitpoints.signal(item)
        await self.history.call(client, "signal", name, work, execution=key)
        call = self.history.by_key("signal")[name][-1]
        return call.is_ok or call.error in ("already_terminal", "waitpoint_closed")

    @override
    async def finish(self, engine: NearEngine) -> None:
        for key, calls in self.history.by_key("wait").items():
            if happened(calls) is None:
                try:
                    await engine.describe(key)
                except NotFound:
                    continue
            elif happened(calls) is False:
                continue
            for name in _names(key):
                await self._insist(engine, key, name)

    async def _insist(self, engine: NearEngine, key: str, name: str) -> None:
        """Send a signal until it has arrived: at first there may be no waitpoint for it."""

        async def sent() -> bool:
            return await self._signal(engine, "finish", key, name)

        await wait_for(sent, timeout_s=200)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        found = records(dump)
        signals = self.history.by_key("signal")
        for key, calls in self.history.by_key("wait").items():
            record = found.get(key)
            if record is None:
                if happened(calls):
                    yield f"execution {key} was acknowledged and is lost"
                continue
            sent = {name: signals.get(name, []) for name in _names(key)}
            for text in _judge(record, calls[0].facts["kind"], sent):
                yield f"execution {key} {text}"


def _names(key: str) -> list[str]:
    """Return the signals of an execution."""
    return [f"{key}:{number}" for number in range(_SIGNALS)]


def _judge(record: dict[bytes, bytes], kind: str, sent: dict[str, list[Call]]) -> Iterator[str]:
    if problem := completed(record):
        yield problem
        return
    result = json.loads(record[b"result"])
    got = result if kind == "gate" else [result]
    if len(set(got)) < len(got) or not set(got) <= sent.keys():
        yield f"got {got}"
        return
    if kind == "gate" and len(got) != _SIGNALS:
        yield f"got {got}, not {_SIGNALS} signals"
    for name in got:
        if happened(sent[name]) is False:
            yield f"got the signal {name}, which was refused"
    effects = [call.answer for calls in sent.values() for call in calls if call.is_ok]
    if effects.count(Effect.RESUMED) > 1:
        yield f"was resumed more than once: {effects}"
