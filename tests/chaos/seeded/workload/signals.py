"""Signals to executions and answers at waitpoints: each counts once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.errors import HoldfastError, NotFound
from holdfast.model.waitpoints import NewSignal, waitpoint_id
from holdfast.testing.polling import wait_for
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import happened
from tests.chaos.seeded.workload.workload import Dump, Workload, encode, records


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
            given = {"signals": 3} if kind == "gate" else {}
            fields = {"id": key, "input": encode(given), "max_reclaims": RECLAIMS, "retry": QUICK}
            await self.history.call(
                client, "wait", key, engine.submit(kind, **fields), kind=kind, check=False
            )

    async def _send(self, engine: Engine, client: str, key: str) -> None:
        name = f"{key}:{self.random.randint(0, 2)}"
        await self._signal(engine, client, key, name)

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
            for number in range(3):
                await self._insist(engine, key, f"{key}:{number}")

    async def _insist(self, engine: NearEngine, key: str, name: str) -> None:
        """Send a signal until it has arrived: at first there may be no waitpoint for it."""

        async def sent() -> bool:
            return await self._signal(engine, "finish", key, name)

        await wait_for(sent, timeout_s=30)

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
            if record[b"state"] != b"completed":
                yield f"execution {key} is {record[b'state'].decode()}"
                continue
            result = json.loads(record[b"result"])
            got = result if isinstance(result, list) else [result]
            sent = {f"{key}:{number}" for number in range(3)}
            if len(set(got)) < len(got) or not set(got) <= sent:
                yield f"execution {key} got {got}"
            if calls[0].facts["kind"] == "gate" and len(got) != 3:
                yield f"execution {key} got {got}, not three signals"
            for name in got:
                if happened(signals.get(name, [])) is False:
                    yield f"execution {key} got the signal {name}, which was refused"
            effects = [call.answer for name in sent for call in signals.get(name, ()) if call.is_ok]
            if sum(str(effect) == "resumed" for effect in effects) > 1:
                yield f"execution {key} was resumed more than once: {effects}"
        try:
            for key in list(found)[:3]:
                await engine.waitpoints.signals(key)
        except HoldfastError as error:
            yield f"signals cannot be read: {error}"
