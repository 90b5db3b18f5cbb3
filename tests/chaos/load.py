"""Load for chaos tests: submitters and workers that remember what was acknowledged to them."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.model.executions import Claim, NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for
from tests.support.invariants import violations
from tests.support.lifecycle import claim_ready

#: Far longer than any test, so that no lease is lost but by a fault.
LEASE_MS = 600_000
BATCH = 5
#: Between two submits of a submitter. At full speed there would be too much to check afterwards.
PACE_S = 0.02


class Load:
    """Submits and runs executions until told to stop."""

    def __init__(self, store: Store, random: Random) -> None:
        self._store = store
        self._random = random
        self._tags = list(store.tags())
        self._stopping = False
        #: Inputs by id, results by id, of what was acknowledged.
        self.submitted: dict[str, bytes] = {}
        self.completed: dict[str, bytes] = {}
        #: Calls that failed, where failing is allowed.
        self.errors: list[HoldfastError] = []
        #: Answered calls that had something to do.
        self.calls = 0

    def stop(self) -> None:
        """Finish what is under way and stop."""
        self._stopping = True

    async def wait_for_calls(self, count: int) -> None:
        """Wait until this many more calls were answered."""
        enough = self.calls + count

        async def answered() -> bool:
            return self.calls >= enough

        await wait_for(answered, timeout_s=30)

    async def submit(self, *, tolerant: bool = False) -> None:
        """Submit batches, with ids of our own and with minted ones."""
        while not self._stopping:
            items = [self._item() for _ in range(self._random.randint(1, BATCH))]
            try:
                answers = await self._store.executions.create(items)
            except HoldfastError as error:
                self._note(error, tolerant=tolerant)
                continue
            self.calls += 1
            for item, answer in zip(items, answers, strict=True):
                assert isinstance(answer, Submitted), answer
                assert not answer.duplicate, answer
                self.submitted[answer.id] = item.input
            await asyncio.sleep(PACE_S)

    def _item(self) -> NewExecution:
        own_id = new_id() if self._random.random() < 0.5 else None
        return NewExecution(kind="work", id=own_id, input=self._random.randbytes(20))

    async def work(self, worker: str, *, tolerant: bool = False) -> None:
        """Claim, checkpoint and complete."""
        while not self._stopping:
            try:
                claims = await self._claim(worker)
            except HoldfastError as error:
                self._note(error, tolerant=tolerant)
                continue
            async with asyncio.TaskGroup() as group:
                for claim in claims:
                    group.create_task(self._finish(claim, tolerant=tolerant))

    async def _claim(self, worker: str) -> list[Claim]:
        claims = await claim_ready(
            self._store,
            self._random.choice(self._tags),
            request=new_id(),
            worker=worker,
            lanes=["default"],
            capabilities=[],
            limit=BATCH,
            lease_ms=LEASE_MS,
        )
        self.calls += len(claims) > 0
        return claims

    async def _finish(self, claim: Claim, *, tolerant: bool) -> None:
        executions = self._store.executions
        result = self._random.randbytes(20)
        try:
            step = await executions.checkpoint(claim.id, claim.lease, "step", claim.input)
            assert step == claim.input
            await executions.complete(claim.id, claim.lease, result)
        except HoldfastError as error:
            self._note(error, tolerant=tolerant)
        else:
            self.calls += 2
            self.completed[claim.id] = result

    def _note(self, error: HoldfastError, *, tolerant: bool) -> None:
        if not tolerant:
            raise error
        self.errors.append(error)

    async def drain(self) -> None:
        """Run what is left."""
        for tag in self._tags:
            self._tags = [tag]
            while claims := await self._claim("drainer"):
                await asyncio.gather(*(self._finish(claim, tolerant=False) for claim in claims))


def check_nothing_is_lost(load: Load, dump: dict[str, Any]) -> None:
    """Check that what was acknowledged is stored, exactly once and unchanged."""
    assert violations(dump) == []
    records = {key.split("}:x:", 1)[1]: value for key, value in dump.items() if "}:x:" in key}
    assert records.keys() == load.submitted.keys(), "lost, or created twice"
    for execution_id, payload in load.submitted.items():
        assert records[execution_id][b"input"] == payload
    for execution_id, result in load.completed.items():
        record = records[execution_id]
        assert (record[b"state"], record[b"result"]) == (b"completed", result)
    for record in records.values():
        # No lease ends in such a short time, so a second attempt means a lost first one.
        assert record.get(b"attempts", b"1") == b"1"


async def check_history(load: Load, store: Store) -> None:
    """Check that everything was completed once and no more."""
    histories = await asyncio.gather(*(store.queries.history(i) for i in load.completed))
    for history in histories:
        assert [event.event for event in history].count("completed") == 1
