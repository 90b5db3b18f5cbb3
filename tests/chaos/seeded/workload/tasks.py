"""Executions: submitted, run in steps, failing, napping, cancelled, replayed.

What their code saw is judged for all executions at once, in `attempts`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import Call, happened
from tests.chaos.seeded.workload.workload import ENDS, UNENDED, Dump, Workload, encode, records


class Tasks(Workload):
    """Executions of their own."""

    @override
    async def act(self, engine: Engine, client: str) -> None:
        chance = self.random.random()
        known = list(self.history.by_key("submit"))
        if known and chance < 0.08:
            key = self.random.choice(known)
            await self.history.call(client, "cancel", key, engine.cancel(key))
        elif known and chance < 0.14:
            key = self.random.choice(known)
            await self.history.call(client, "replay", key, engine.replay(key))
        elif known and chance < 0.18:
            key = self.random.choice(known)
            await self.history.call(client, "revoke", key, engine.revoke_lease(key))
        else:
            await self._submit(engine, client)

    async def _submit(self, engine: Engine, client: str) -> None:
        key = self.new_key(client)
        if self.random.random() < 0.2:
            kind, given = "nap", {"ms": self.random.choice([0, 30, 1500])}
        else:
            pause_ms = self.random.choice([0, 0, 0, 10, 300])
            fails = self.random.choice([0, 0, 0, 1, 2])
            kind = "work"
            given = {"steps": self.random.randint(0, 4), "fails": fails, "pause_ms": pause_ms}
        fields = {"id": key, "input": encode(given), "max_reclaims": RECLAIMS}
        if self.random.random() < 0.2:
            fields["delay_ms"] = self.random.choice([10, 100, 2000])
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            await self.history.call(
                client, "submit", key, engine.submit(kind, **fields, retry=QUICK), input=given
            )

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        found = records(dump)
        cancelled = self.history.by_key("cancel")
        replayed = self.history.by_key("replay")
        for key, calls in self.history.by_key("submit").items():
            record = found.get(key)
            if happened(calls) is True and record is None:
                yield f"execution {key} was acknowledged and is lost"
            if happened(calls) is False and record is not None:
                yield f"execution {key} exists, though no call created it"
            if record is not None:
                for text in _judge(key, record, cancelled.get(key, []), replayed.get(key, [])):
                    yield text


def _judge(
    key: str, record: dict[bytes, bytes], cancels: list[Call], replays: list[Call]
) -> list[str]:
    state = record[b"state"]
    if state not in ENDS:
        return [f"execution {key} {UNENDED}: it is {state.decode()}"]
    if state == b"completed" and record[b"result"] != encode(f"done {key}"):
        return [f"execution {key} has another result: {record[b'result']!r}"]
    if state == b"cancelled" and happened(cancels) is False:
        return [f"execution {key} is cancelled, though nobody did that"]
    if state in (b"failed", b"expired"):
        return [f"execution {key} is {state.decode()}, though it never should: {record}"]
    if state == b"completed" and happened(cancels) and happened(replays) is False:
        return [f"execution {key} was cancelled and has completed"]
    return []
