"""Rollouts in the time of the store: steps, guards, people in between, crashes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from holdfast.api.claimer import Claimer
from holdfast.engine import Engine
from holdfast.engine.rolling import LEASE_MS, Roller
from holdfast.errors import (
    HoldfastError,
    InvalidInput,
    NoSplit,
    RevisionNotFound,
    RevisionNotReady,
    RolloutActive,
    RolloutNotFound,
    RolloutOver,
    StaleGeneration,
)
from holdfast.model.deployments import DeploymentRef
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.guards import Guards
from holdfast.model.revisions import Lifecycle, capability
from holdfast.model.rollouts import KIND, LANE, Rollout, RolloutState, Step
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, route, shares, stage
from tests.support.rollouts import released

MINUTE_MS = 60_000
STEPS = (
    Step(weight_bps=1_000, duration_ms=MINUTE_MS),
    Step(weight_bps=5_000, duration_ms=MINUTE_MS),
    Step(weight_bps=10_000, duration_ms=MINUTE_MS // 2),
)
FREE = Guards(error_rate_bps=None, p95_percent=None)


class Scene:
    """A deployment that routes to `blue`, a rollout of `green`, and a roller."""

    def __init__(self, engine: Engine, clock: Clock, ref: DeploymentRef, rolling: Claimer) -> None:
        self.engine = engine
        self.clock = clock
        self.ref = ref
        self.roller = Roller(engine.store, engine.executions)
        self._rolling = rolling
        self.id = ""

    async def start(self, **options: Any) -> Rollout:
        """Start the rollout."""
        steps = options.pop("steps", STEPS)
        rollout = await self.engine.rollouts.start(self.ref, "green", steps, **options)
        self.id = rollout.id
        return rollout

    async def rollout(self) -> Rollout:
        """Return the rollout."""
        return await self.engine.rollouts.get(self.ref, self.id)

    async def split(self) -> dict[str, int]:
        """Return the weights in force."""
        return shares((await self.engine.deployments.get(self.ref)).split)

    async def turns(self, revision: str, count: int, *, failed: int = 0, took: int = 0) -> None:
        """End turns on a revision."""
        tenant = self.ref.tenant or "default"
        needs = NewExecution(kind="work", tenant=tenant, requires=(capability(revision),))
        await self.engine.submit_many([needs] * count)
        able = [capability(revision)]
        async with self.engine.claimer(worker="w", capabilities=able) as claimer:
            claims: list[Claim] = []
            while len(claims) < count:
                claims += await claimer.claim(count, 60_000, 10_000)
        await self.clock.advance(took)
        for number, claim in enumerate(claims):
            if number < failed:
                failure = Failure(type="E", message="bad")
                await self.engine.fail(claim.id, claim.lease, failure)
            else:
                await self.engine.complete(claim.id, claim.lease, b"1")

    async def look(self) -> None:
        """Let the roller look, as its execution is ready."""
        assert await self.roller.look(self._rolling, wait_ms=10_000) == 1

    async def pass_time(self, ms: int) -> None:
        """Let time pass, and the roller look whenever its execution is due."""
        end = self.clock.now_ms + ms
        execution = (await self.rollout()).execution
        while True:
            if (await self.engine.describe(execution)).state is State.WAITING:
                await self.look()
            due = await self.clock.due_of(execution)
            state = (await self.engine.describe(execution)).state
            is_later = due is None or due > self.clock.now + timedelta(
                milliseconds=end - self.clock.now_ms
            )
            if state is not State.DELAYED or is_later:
                break
            assert due is not None
            await self.clock.advance((due - self.clock.now) // timedelta(milliseconds=1))
            await self.clock.tick()
        await self.clock.advance(end - self.clock.now_ms)
        await self.clock.tick()

    async def outcome(self) -> dict[str, Any]:
        """Return the result of the execution of the rollout, which must have ended."""
        await self.pass_time(10_000)
        found = await self.engine.executions.outcome((await self.rollout()).execution)
        assert found is not None
        assert found.result is not None
        return msgspec.json.decode(found.result, type=dict[str, Any])


@contextlib.asynccontextmanager
async def staged(engine: Engine, clock: Clock, **fields: Any) -> AsyncIterator[Scene]:
    """Set a scene."""
    ref = await released(engine.store, **fields)
    async with engine.claimer(worker="roller", lanes=(LANE,), kinds=(KIND,)) as rolling:
        yield Scene(engine, clock, ref, rolling)


@pytest.fixture
async def scene(single_store: Store) -> AsyncIterator[Scene]:
    """A deployment of the default tenant, on one server."""
    engine = Engine(single_store)
    async with staged(engine, Clock(single_store)) as scene:
        yield scene
    await engine.close()


@pytest.fixture
async def anywhere(engine: Engine, clock: Clock) -> AsyncIterator[Scene]:
    """The same, on one server and on a cluster."""
    async with staged(engine, clock) as scene:
        yield scene


async def test_a_good_revision_gets_everything_step_by_step(anywhere: Scene) -> None:
    """Each step lasts its time, and the execution ends with the rollout."""
    scene = anywhere
    await scene.turns("blue", 30)
    begun = await scene.start()
    assert (begun.step, await scene.split()) == (1, {"blue": 9_000, "green": 1_000})
    await scene.turns("green", 20)
    await scene.pass_time(MINUTE_MS - 1)
    assert (await scene.rollout()).verdict == "passed"
    assert await scene.split() == {"blue": 9_000, "green": 1_000}
    await scene.pass_time(1)
    assert await scene.split() == {"blue": 5_000, "green": 5_000}
    await scene.turns("green", 20)
    await scene.pass_time(MINUTE_MS + 1)
    assert await scene.split() == {"blue": 0, "green": 10_000}
    await scene.turns("green", 20, failed=0)
    await scene.pass_time(MINUTE_MS // 2 + 1)
    ended = await scene.rollout()
    assert (ended.state, ended.step, ended.generation) == (RolloutState.COMPLETED, 3, 4)
    assert await scene.outcome() == {"rollout": scene.id, "state": "completed", "reason": ""}
    assert (ended.new is not None, ended.rolled_back) == (True, False)
    events = await scene.engine.deployments.events(scene.ref)
    names = [one.event for one in reversed(events) if one.event.startswith("rollout")]
    assert names == ["rollout_started", "rollout_step", "rollout_step", "rollout_completed"]


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ({"failed": 5}, "error rate: 5 of 20 turns failed, before 0 of 30"),
        ({"took": 500}, "p95: 512 ms, before 2 ms; allowed are 150 %"),
    ],
)
async def test_a_bad_revision_is_rolled_back(
    anywhere: Scene, turns: dict[str, int], reason: str
) -> None:
    """In the step in which its guards see it, long before the step ends."""
    scene = anywhere
    await scene.turns("blue", 30)
    await scene.start()
    await scene.turns("green", 20, **turns)
    await scene.pass_time(10_001)
    ended = await scene.rollout()
    assert (ended.state, ended.rolled_back) == (RolloutState.ABORTED, True)
    assert reason in ended.reason
    assert (await scene.split(), ended.generation) == ({"blue": 10_000}, 3)
    assert (await scene.outcome())["state"] == "aborted"
    assert ended.new is not None
    assert ended.new.turns == 20


async def test_what_fails_both_is_not_held_against_the_new_one(scene: Scene) -> None:
    """The old revision is judged by the same minutes."""
    await scene.turns("blue", 30)
    await scene.clock.advance(10_000)
    await scene.start()
    await scene.turns("green", 20, failed=10)
    await scene.turns("blue", 20, failed=10)
    await scene.pass_time(20_000)
    assert (await scene.rollout()).state is RolloutState.RUNNING


async def test_a_step_waits_for_enough_turns(scene: Scene) -> None:
    """And says so; afterwards it goes on by itself."""
    await scene.start()
    await scene.turns("green", 3)
    await scene.pass_time(3 * MINUTE_MS)
    waiting = await scene.rollout()
    assert (waiting.step, waiting.state) == (1, RolloutState.RUNNING)
    assert waiting.reason == "the new revision has ended 3 of 20 turns"
    await scene.turns("green", 17)
    await scene.pass_time(20_000)
    assert (await scene.rollout()).step == 2


async def test_a_pause_stops_the_clock_of_the_step(scene: Scene) -> None:
    """And the guards. Both calls are safe to repeat."""
    rollouts = scene.engine.rollouts
    await scene.start(guards=FREE)
    await scene.pass_time(24_000)
    for _ in range(2):
        held = await rollouts.pause(scene.ref, scene.id, reason="lunch")
    assert (held.state, held.reason, held.version) == (RolloutState.PAUSED, "lunch", 2)
    await scene.pass_time(2 * MINUTE_MS)
    assert await scene.split() == {"blue": 9_000, "green": 1_000}
    for _ in range(2):
        going = await rollouts.resume(scene.ref, scene.id)
    assert (going.state, going.version) == (RolloutState.RUNNING, 3)
    await scene.pass_time(30_000)
    assert (await scene.rollout()).step == 1
    await scene.pass_time(12_000)
    assert (await scene.rollout()).step == 2


async def test_people_end_a_rollout_at_once(scene: Scene) -> None:
    """By a promotion or an abort, also of one that is paused; then it is over."""
    rollouts = scene.engine.rollouts
    await scene.start()
    await rollouts.pause(scene.ref, scene.id)
    for _ in range(2):
        ended = await rollouts.abort(scene.ref, scene.id, reason="odd")
    assert (ended.state, ended.reason, ended.rolled_back) == (RolloutState.ABORTED, "odd", True)
    assert await scene.split() == {"blue": 10_000}
    with pytest.raises(RolloutOver, match="is aborted: odd"):
        await rollouts.promote(scene.ref, scene.id)
    assert (await scene.outcome())["reason"] == "odd"
    await scene.start()
    for _ in range(2):
        done = await rollouts.promote(scene.ref, scene.id)
    assert (done.state, await scene.split()) == (
        RolloutState.COMPLETED,
        {"blue": 0, "green": 10_000},
    )
    for refused in (rollouts.abort, rollouts.pause, rollouts.resume):
        with pytest.raises(RolloutOver):
            await refused(scene.ref, scene.id)


async def test_a_split_that_a_person_sets_is_kept(scene: Scene) -> None:
    """The rollout ends and says why; the next look notices, whatever its guards say."""
    await scene.start()
    await route(scene.engine.store, scene.ref, blue=3_000, green=7_000)
    with pytest.raises(StaleGeneration):
        await scene.engine.rollouts.promote(scene.ref, scene.id)
    await scene.turns("green", 20, failed=20)
    await scene.pass_time(10_001)
    ended = await scene.rollout()
    assert (ended.state, ended.rolled_back) == (RolloutState.ABORTED, False)
    assert ended.reason == "the split was changed (generation 3); it stays as it is"
    assert await scene.split() == {"blue": 3_000, "green": 7_000}


async def test_an_abort_keeps_the_split_of_a_person(scene: Scene) -> None:
    """Nothing is overwritten by hand either."""
    await scene.start()
    await route(scene.engine.store, scene.ref, blue=3_000, green=7_000)
    ended = await scene.engine.rollouts.abort(scene.ref, scene.id, reason="odd")
    assert (ended.state, ended.rolled_back) == (RolloutState.ABORTED, False)
    assert ended.reason.startswith("odd; the split of deployment talk has changed")
    assert await scene.split() == {"blue": 3_000, "green": 7_000}


async def test_there_may_be_nothing_to_return_to(scene: Scene) -> None:
    """The old revision drains already: the rollout ends, the split stays."""
    await scene.turns("blue", 20)
    await scene.start(steps=[Step(weight_bps=10_000, duration_ms=MINUTE_MS)])
    await scene.engine.deployments.drain(scene.ref, "blue")
    await scene.turns("green", 20, failed=20)
    await scene.pass_time(10_000)
    ended = await scene.rollout()
    assert (ended.state, ended.rolled_back) == (RolloutState.ABORTED, False)
    assert "error rate" in ended.reason
    assert "revision blue is inactive" in ended.reason
    assert await scene.split() == {"blue": 0, "green": 10_000}


@pytest.mark.parametrize("dies", ["before", "after"])
async def test_a_roller_that_dies_at_every_look_changes_nothing(scene: Scene, dies: str) -> None:
    """Whether it dies before the step or right after; each step is done once, in its order."""
    await scene.start(guards=FREE)
    splits, generations = [], []
    while not (seen := await scene.rollout()).is_over:
        splits.append(await scene.split())
        generations.append((await scene.engine.deployments.get(scene.ref)).split.generation)
        async with scene.engine.claimer(worker="dead", lanes=(LANE,), kinds=(KIND,)) as dying:
            (claim,) = await dying.claim(1, LEASE_MS, 10_000)
        assert claim.id == seen.execution
        if dies == "after":
            await scene.engine.rollouts.look(scene.ref, scene.id)  # type: ignore[attr-defined]
        await scene.clock.advance_and_tick(LEASE_MS + 1)
        # A reclaim waits up to a minute if there were several.
        await scene.clock.advance_and_tick(MINUTE_MS)
        await scene.look()
        await scene.clock.advance_and_tick(6_000)
    assert (await scene.rollout()).state is RolloutState.COMPLETED
    assert [weights["green"] for weights in splits] == sorted(w["green"] for w in splits)
    assert {weights["green"] for weights in splits} == {1_000, 5_000, 10_000}
    assert sorted(set(generations)) == [2, 3, 4]


async def test_a_rollout_without_an_execution_gets_one(scene: Scene) -> None:
    """The process that started it died in between."""
    rollout = await scene.start(guards=FREE)
    await scene.engine.store.client.call(
        ["DEL", f"{scene.engine.store.tag_of(rollout.execution)}:x:{rollout.execution}"]
    )
    await scene.roller.adopt()
    await scene.roller.adopt()
    assert (await scene.engine.describe(rollout.execution)).state is State.WAITING
    await scene.look()


async def test_a_rollout_whose_execution_is_cancelled_is_aborted(scene: Scene) -> None:
    """Somebody wanted it to stop."""
    rollout = await scene.start()
    await scene.engine.cancel(rollout.execution, "stop")
    await scene.roller.adopt()
    ended = await scene.rollout()
    assert (ended.state, ended.reason) == (RolloutState.ABORTED, "its execution is cancelled")
    assert await scene.split() == {"blue": 10_000}
    await scene.roller.adopt()


@pytest.mark.parametrize(
    "work",
    [
        b"null",
        b'{"env": "local", "deployment": "talk", "rollout": "ID"}',
        b'{"env": ""}',
        b'{"env": "\xff"}',
        pytest.param(b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="deep"),
    ],
)
async def test_an_execution_that_somebody_submits_moves_nothing(scene: Scene, work: bytes) -> None:
    """It fails; whatever it names is left alone."""
    await scene.start(guards=FREE)
    await scene.look()
    await scene.clock.advance(30 * MINUTE_MS)
    forged = await scene.engine.submit(
        KIND, lane=LANE, input=work.replace(b"ID", scene.id.encode()), check=False
    )
    await scene.look()
    assert (await scene.engine.describe(forged.id)).state is State.FAILED
    assert await scene.split() == {"blue": 9_000, "green": 1_000}


async def test_a_rollout_of_a_tenant(engine: Engine, clock: Clock) -> None:
    """Its execution is the tenant's, and the turns are counted as for every other."""
    async with staged(engine, clock, tenant="acme") as scene:
        rollout = await scene.start()
        assert (rollout.tenant, await engine.executions.owner(rollout.execution)) == (
            "acme",
            "acme",
        )
        await scene.turns("green", 20, failed=20)
        await scene.pass_time(10_001)
        assert (await scene.rollout()).state is RolloutState.ABORTED
        unnamed = DeploymentRef(env="local", id="talk")
        (found,) = await engine.rollouts.list(unnamed)
        assert found.id == scene.id
        figures = await engine.deployments.figures(unnamed, "green")
        assert (figures.turns, figures.error_rate_bps) == (20, 10_000)


async def test_only_one_of_many_who_decide_at_once_wins(scene: Scene) -> None:
    """The others see what it did."""
    rollouts = scene.engine.rollouts
    await scene.start()
    calls = [rollouts.promote, rollouts.abort, rollouts.pause, rollouts.resume] * 3
    answers = await asyncio.gather(
        *(call(scene.ref, scene.id) for call in calls), return_exceptions=True
    )
    ended = await scene.rollout()
    assert ended.is_over
    expected = 10_000 if ended.state is RolloutState.COMPLETED else 0
    assert (await scene.split()).get("green", 0) == expected
    assert all(isinstance(one, Rollout | RolloutOver) for one in answers), answers
    generation = (await scene.engine.deployments.get(scene.ref)).split.generation
    assert generation == 3


async def test_starting_again_with_the_same_id_returns_it(scene: Scene) -> None:
    """Another one is refused while it is not over."""
    first = await scene.start(rollout_id="release-7", expected_generation=1)
    assert await scene.start(rollout_id="release-7", expected_generation=1) == first
    with pytest.raises(RolloutActive):
        await scene.start()


async def test_what_cannot_start_is_refused(scene: Scene) -> None:
    """With the error that says why, and without a trace."""
    engine, store = scene.engine, scene.engine.store
    empty = await create(store, "empty")
    await stage(store, empty, "red", Lifecycle.READY)
    await stage(store, scene.ref, "grey", Lifecycle.WARMING)
    cases: list[tuple[DeploymentRef, str, Any, dict[str, Any], type[HoldfastError]]] = [
        (empty, "red", STEPS, {}, NoSplit),
        (scene.ref, "gone", STEPS, {}, RevisionNotFound),
        (scene.ref, "grey", STEPS, {}, RevisionNotReady),
        (scene.ref, "blue", STEPS, {}, InvalidInput),
        (scene.ref, "green", STEPS, {"expected_generation": 7}, StaleGeneration),
        (scene.ref, "green", [], {}, InvalidInput),
        (scene.ref, "green", STEPS[:2], {}, InvalidInput),
        (scene.ref, "green", [*STEPS[:2], STEPS[0]], {}, InvalidInput),
        (scene.ref, "green", ["100%"], {}, InvalidInput),
        (scene.ref, "green", STEPS, {"guards": {"min_turns": 3}}, InvalidInput),
        (scene.ref, "green", STEPS, {"rollout_id": "a b"}, InvalidInput),
        (scene.ref, "", STEPS, {}, InvalidInput),
    ]
    for ref, revision, steps, options, error in cases:
        with pytest.raises(error):
            await engine.rollouts.start(ref, revision, steps, **options)
    assert await engine.rollouts.list(scene.ref) == []
    with pytest.raises(RolloutNotFound):
        await engine.rollouts.get(scene.ref, "r1")
    assert await scene.split() == {"blue": 10_000}


async def test_a_rollout_continues_from_a_share_that_the_revision_has(scene: Scene) -> None:
    """An abort returns to that share."""
    await route(scene.engine.store, scene.ref, blue=8_000, green=2_000)
    with pytest.raises(InvalidInput, match="must begin above the weight of the revision, 2000"):
        await scene.start(steps=[Step(weight_bps=2_000), Step(weight_bps=10_000)])
    await scene.start(steps=[Step(weight_bps=4_000), Step(weight_bps=10_000)])
    assert await scene.split() == {"blue": 6_000, "green": 4_000}
    await scene.engine.rollouts.abort(scene.ref, scene.id)
    assert await scene.split() == {"blue": 8_000, "green": 2_000}


async def test_figures_are_those_of_a_window(scene: Scene) -> None:
    """Checked at the entry."""
    await scene.turns("green", 4, failed=1, took=100)
    found = await scene.engine.deployments.figures(scene.ref, "green", window_ms=60_000)
    assert (found.turns, found.failed, found.error_rate_bps) == (4, 1, 2_500)
    assert (found.p50_ms, found.p95_ms) == (108, 108)
    assert found.since == scene.clock.now - timedelta(minutes=1)
    for window_ms in (0, 3_600_001):
        with pytest.raises(InvalidInput, match=r"^window_ms: "):
            await scene.engine.deployments.figures(scene.ref, "green", window_ms=window_ms)
    with pytest.raises(RevisionNotFound):
        await scene.engine.deployments.figures(scene.ref, "gone")
