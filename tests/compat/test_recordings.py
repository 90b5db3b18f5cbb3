"""Executions that an earlier version recorded continue on this one; no step runs twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import App
from holdfast.engine import open_engine
from holdfast.operate.verify import verify
from holdfast.testing import start_server
from tests.compat.recording import Recording, recorded, restore
from tests.compat.workload import Workload, workload

WAIT_S = 60
RECORDED = recorded()


@pytest.fixture(params=RECORDED)
def recording(request: pytest.FixtureRequest) -> Recording:
    """What a version left."""
    return RECORDED[request.param]


@pytest.fixture
def store(recording: Recording) -> Iterator[str]:
    """The URL of a store with all of it."""
    with start_server() as server:
        with server.raw() as client:
            restore(client, recording.keys)
        yield f"valkey://127.0.0.1:{server.port}?prefix=compat"


def test_the_first_version_is_recorded() -> None:
    """0.1.0 is the commit 40671f58, the oldest whose executions all continue."""
    assert RECORDED["0.1.0"].version == "0.1.0"


async def test_everything_continues_where_it_was(store: str, recording: Recording) -> None:
    """Whatever its state was; steps that were recorded are not run again."""
    load = workload(store, is_recording=False)
    ids = recording.ids
    async with load.app:
        await _check_states(load.app, recording)
    async with load.app.worker():
        await _answer(load, recording)
        assert await _result(load, "ask", ids["waiting"]) == "blue"
        assert await _result(load, "add", ids["completed"]) == 3
        assert await _result(load, "flaky", ids["retrying"]) == "at last"
        assert await _result(load, "nap", ids["sleeping"]) == "awake"
        assert await _result(load, "hang", ids["running"]) == "reclaimed"
        assert await _result(load, "parent", ids["parent"]) == "my child is awake"
        await load.app.engine.graphs.wait(recording.graph, timeout_s=WAIT_S)
        assert await load.app.engine.graphs.results(recording.graph) == {"add": b"7"}
        await _replay(load, ids["completed"])
    # `add` of the graph and of the replay, and the ends of two naps.
    assert sorted(load.ran) == ["add", "awake", "awake"]
    async with open_engine(store, maintenance=False) as engine:
        assert (await verify(engine.store)).drifts == []


async def _check_states(app: App, recording: Recording) -> None:
    """Nothing needs a worker to be read, and messages and budgets are there."""
    ended = {name: recording.states[name] for name in ("completed", "failed", "cancelled")}
    for name, state in ended.items():
        assert (await app.engine.describe(recording.ids[name])).state == state
    queue = app.queue("orders", int)
    read = await queue.read(consumer="me", count=2)
    assert [one.value for one in read] == [1, 2]
    assert (await app.engine.budgets.get("llm")).limits["tokens"].hard == 100


async def _answer(load: Workload, recording: Recording) -> None:
    """Answer both that wait."""
    members = (await load.app.engine.graphs.describe(recording.graph)).members
    for id in (recording.ids["waiting"], members["ask"].id):
        await load.tasks["ask"].handle(id).signal("colour", "blue")


async def _replay(load: Workload, id: str) -> None:
    """Run an execution of the earlier version again, with the steps that it recorded."""
    await load.app.engine.replay(id, keep_steps=True)
    assert await _result(load, "add", id) == 3


async def _result(load: Workload, task: str, id: str) -> object:
    return await load.tasks[task].handle(id).result(timeout=WAIT_S)
