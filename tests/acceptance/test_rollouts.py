"""Rollouts while users talk without a pause: the process that carries them out is killed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.host.flows.declaring import APOLOGY
from holdfast.model.guards import Guards
from holdfast.model.revisions import Lifecycle
from holdfast.model.rollouts import Rollout, RolloutState, Step
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server
from tests.acceptance.test_releases import REF, Apps, Packs, Place, User
from tests.support.hosting import reached, shift, shop, stage

pytestmark = pytest.mark.timeout(120)

GUARDS = Guards(min_turns=5, error_rate_bps=1_000, p95_percent=None)
STEPS = [
    Step(weight_bps=3_000, duration_ms=600),
    Step(weight_bps=7_000, duration_ms=600),
    Step(weight_bps=10_000, duration_ms=600),
]
DOORS = 3
#: Its first turn fails.
BROKEN = 'id: main\nnodes: {{hello: {{set: {{x: "{{{{ 1 / 0 }}}}"}}, out: end}}}}\n'


BROKEN_APP = f"""
from holdfast import App, Chat

app = App()


@app.conversation(name="talk", apology={APOLOGY!r})
async def talk(chat: Chat) -> None:
    await chat.receive()
    raise ValueError("broken")
"""


class Visitors:
    """Users who come one after the other, each for a conversation, and check what they heard."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.over = asyncio.Event()
        self.disappointed = 0

    async def come(self, door: int) -> int:
        """Let visitors come until it is over; return how many came."""
        count = 0
        while not self.over.is_set():
            user = User(self._engine, f"v{door}-{count}")
            await user.talk()
            await user.check_transcript()
            self.disappointed += user.disappointed
            count += 1
        return count


@contextlib.asynccontextmanager
async def visiting(engine: Engine) -> AsyncIterator[Visitors]:
    """Let visitors come while the block runs."""
    visitors = Visitors(engine)
    async with asyncio.TaskGroup() as group:
        doors = [group.create_task(visitors.come(door)) for door in range(DOORS)]
        try:
            yield visitors
        finally:
            visitors.over.set()
    assert all(door.result() > 1 for door in doors)


async def until(engine: Engine, rollout: Rollout, *, step: int = 0) -> Rollout:
    """Wait until a rollout has left a step for the next one, or is over."""

    async def look() -> Rollout | None:
        found = await engine.rollouts.get(REF, rollout.id)
        return found if found.is_over or 0 < step < found.step else None

    found = await wait_for(look, timeout_s=60)
    assert found is not None
    return found


async def split(engine: Engine) -> dict[str, int]:
    """Return the weights in force."""
    found = await engine.deployments.get(REF)
    return {one.revision: one.weight_bps for one in found.split.entries if one.weight_bps}


@pytest.mark.parametrize("kind", [Packs, Apps])
async def test_rollouts_survive_kills_and_roll_bad_revisions_back(
    kind: type[Place], tmp_path: Path
) -> None:
    """A good revision gets everything although its process dies in each step; a bad one nothing.

    Every message is answered once; those that the bad revision got, by its apology.
    """
    with start_server() as server:
        url = f"valkey://127.0.0.1:{server.port}"
        # Nothing but those processes carries rollouts out.
        async with open_engine(url, maintenance=False) as engine:
            place = kind(engine, tmp_path, url)
            await place.release("a")
            await reached(engine, "a", Lifecycle.READY, REF)
            await shift(engine, "a", REF)
            async with visiting(engine) as visitors:
                await place.release("b")
                await reached(engine, "b", Lifecycle.READY, REF)
                await _good(place)
                if isinstance(place, Apps):
                    await place.release_code("c", BROKEN_APP)
                else:
                    await stage(engine, "c", shop("C", flow=BROKEN), REF)
                await reached(engine, "c", Lifecycle.READY, REF)
                await _bad(engine, visitors)
                assert await User(engine, "dan").talk() == "B"
            await place.close()


async def _good(place: Place) -> None:
    engine = place.engine
    rollout = await engine.rollouts.start(REF, "b", STEPS, guards=GUARDS)
    seen, generations = rollout, [rollout.generation]
    while not seen.is_over:
        await place.crash("b")
        seen = await until(engine, rollout, step=seen.step)
        generations.append(seen.generation)
    assert (seen.state, await split(engine)) == (RolloutState.COMPLETED, {"b": 10_000})
    assert sorted(set(generations)) == [2, 3, 4]


async def _bad(engine: Engine, visitors: Visitors) -> None:
    rollout = await engine.rollouts.start(REF, "c", STEPS, guards=GUARDS)
    ended = await until(engine, rollout)
    assert (ended.state, ended.rolled_back) == (RolloutState.ABORTED, True), ended
    assert "error rate" in ended.reason
    assert (ended.step, await split(engine)) == (1, {"b": 10_000})
    assert visitors.disappointed >= GUARDS.min_turns
