"""A bulk action whose processes are killed: each execution is acted on and counted once."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.model.bulk import BulkAction, NewBulk
from holdfast.model.executions import NewExecution
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server
from tests.acceptance.test_cli import background, holdfast

pytestmark = pytest.mark.timeout(240)

COUNT = 90
WAIT_S = 100


async def _work(engine: Engine) -> None:
    """Complete executions, the replayed ones again, until cancelled."""
    async with engine.claimer(worker="w") as claimer:
        while True:
            for claim in await claimer.claim(COUNT, 60_000, 10_000):
                await engine.complete(claim.id, claim.lease, b"1")


async def _completed(engine: Engine) -> int:
    cells = await engine.count()
    return sum(one.count for one in cells if (one.kind, one.state) == ("mail", State.COMPLETED))


async def test_a_bulk_action_survives_its_processes(tmp_path: Path) -> None:
    """Two servers are killed in the middle of it; a third one finishes it."""
    with start_server() as server:
        url = f"valkey://127.0.0.1:{server.port}"
        # Nothing but the servers carries it out.
        async with open_engine(url, maintenance=False) as engine:
            working = asyncio.create_task(_work(engine))
            made = await engine.submit_many([NewExecution(kind="mail")] * COUNT)
            ids = [one.id for one in made if not isinstance(one, Exception)]

            async def all_completed() -> bool:
                return await _completed(engine) == COUNT

            await wait_for(all_completed, timeout_s=WAIT_S)
            new = NewBulk(
                action=BulkAction.REPLAY, wanted=Filter(kind="mail"), rate=25, expected=COUNT
            )
            await engine.bulk.start(new)

            async def done(count: int) -> bool:
                return (await engine.bulk.get(new.id)).done >= count

            args = ("server", "--listen", "127.0.0.1:0", "--store", url)
            for count in (1, 30):
                with background(args, tmp_path) as process:
                    await wait_for(partial(done, count), timeout_s=WAIT_S)
                    process.process.kill()
                    process.process.wait()
            with background(args, tmp_path):
                await engine.wait(new.id, timeout_s=WAIT_S)
            await wait_for(all_completed, timeout_s=WAIT_S)
            working.cancel()
            bulk = await engine.bulk.get(new.id)
            assert (bulk.done, bulk.refused, bulk.state) == (COUNT, 0, State.COMPLETED)
            histories = await asyncio.gather(*map(engine.history, ids))
            replays = [sum(one.event == "replayed" for one in history) for history in histories]
            assert replays == [1] * COUNT
        shown = holdfast("bulk", "show", new.id, "--store", url, "--json", folder=tmp_path)
        assert (shown.returncode, json.loads(shown.stdout)["done"]) == (0, COUNT)
