"""Deployments: shipping a revision while conversations are under way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import pytest

from holdfast.engine import Engine
from holdfast.engine.drainer import Drainer
from holdfast.errors import (
    Conflict,
    EnvNotFound,
    InvalidInput,
    RevisionDraining,
    StaleGeneration,
    StaleLifecycle,
)
from holdfast.model.deployments import Deployment, DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.envs import Env
from holdfast.model.moments import from_ms
from holdfast.model.revisions import Gate, Lifecycle, Revision, capability
from holdfast.model.sessions import MessageWait
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.conversing import NAME, message, publish, reply
from tests.support.deployments import digest, upload
from tests.support.fault_injection import meanwhile, once

TALK = DeploymentRef(env="local", id="talk")
PASSED = [Gate(name="loads", passed=True)]
#: Shorter than the interval at which watchers look without a notification.
AT_ONCE_S = 3


async def begin(engine: Engine, *revisions: str) -> None:
    """Create a deployment with revisions that are ready."""
    await engine.deployments.create(
        NewDeployment(env="local", id="talk", tenant="default", app=NAME)
    )
    for revision in revisions:
        await engine.deployments.stage(TALK, revision_id=revision)
        await warm(engine, revision)


async def warm(engine: Engine, revision: str) -> Revision:
    """Warm a revision up; all gates pass."""
    seen = await engine.deployments.warm(TALK, revision)
    return await engine.deployments.judge(TALK, revision, PASSED, seen=seen.version)


async def route(engine: Engine, revision: str, expected: int) -> None:
    """Give all new sessions to a revision."""
    entries = [SplitEntry(revision=revision, weight_bps=10_000)]
    await engine.deployments.set_split(TALK, entries, expected_generation=expected)


async def lifecycle(engine: Engine, revision: str) -> Lifecycle:
    """Return what a revision is ready for."""
    found = (await engine.deployments.get(TALK)).revision(revision)
    assert found is not None
    return found.lifecycle


async def test_a_conversation_ends_on_the_revision_on_which_it_began(
    engine: Engine, clock: Clock
) -> None:
    """While new ones go elsewhere; the drain ends with its last wait."""
    await publish(engine)
    await begin(engine, "v1", "v2")
    await route(engine, "v1", 0)
    first = await engine.sessions.deliver(NAME, message("hi"), revision="v1")
    caps = [capability("v1")]
    async with engine.claimer(worker="w1", capabilities=caps) as claimer:
        (claim,) = await claimer.claim(1, 30_000)
        wait = MessageWait(step="receive:1")
        await engine.sessions.turn(claim.id, claim.lease, [reply("say:1", "which?")], wait)
        began = clock.now_ms
        await route(engine, "v2", 1)
        drained = await engine.deployments.drain(TALK, "v1", deadline_ms=60_000)
        assert (drained.lifecycle, drained.running, drained.waiting) == (Lifecycle.DRAINING, 0, 1)
        assert drained.oldest_wait == from_ms(began)
        assert drained.deadline_at == from_ms(began + 60_000)
        with pytest.raises(RevisionDraining):
            await engine.sessions.deliver(NAME, message("hi", "bob"), revision="v1")
        await engine.sessions.deliver(NAME, message("hi", "bob"), revision="v2")
        await engine.sessions.deliver(NAME, message("this"), revision="v2")
        session = await engine.sessions.get(first.session)
        assert (session.revision, session.execution) == ("v1", claim.id)
        for user, revision, reason in (("ann", "v1", "wait"), ("dan", "v2", "weights")):
            route_of = await engine.deployments.explain(TALK, message("", user).key.id)
            assert (route_of.revision, route_of.reason) == (revision, reason)
        (again,) = await claimer.claim(1, 30_000)
        assert (await engine.deployments.drain(TALK, "v1")).running == 1
        await engine.complete(again.id, again.lease, b"null")
    ended = await engine.deployments.drain(TALK, "v1")
    assert ended.lifecycle is Lifecycle.INACTIVE
    found = await engine.deployments.get(TALK)
    assert [(one.id, one.running, one.waiting) for one in found.revisions] == [
        ("v1", 0, 0),
        ("v2", 1, 0),
    ]


async def test_the_drainer_ends_a_drain_when_the_last_need_ends(engine: Engine) -> None:
    """At once, because the partition announces it."""
    await begin(engine, "v1")
    made = await engine.submit("work", requires=(capability("v1"),))
    await engine.deployments.drain(TALK, "v1")
    engine.services.start(Drainer(engine.store))

    async def is_inactive() -> bool:
        return await lifecycle(engine, "v1") is Lifecycle.INACTIVE

    assert not await is_inactive()
    await engine.cancel(made.id, "no")
    await wait_for(is_inactive, timeout_s=AT_ONCE_S)
    await engine.services.close()


async def test_what_has_drained_can_be_warmed_up_again(engine: Engine) -> None:
    """And starts conversations again in every partition."""
    await publish(engine)
    await begin(engine, "v1")
    assert (await engine.deployments.drain(TALK, "v1")).lifecycle is Lifecycle.INACTIVE
    assert (await engine.deployments.drain(TALK, "v1")).lifecycle is Lifecycle.INACTIVE
    await warm(engine, "v1")
    for user in ("ann", "bob", "cat"):
        await engine.sessions.deliver(NAME, message("hi", user), revision="v1")
    drained = await engine.deployments.drain(TALK, "v1")
    assert (drained.lifecycle, drained.running) == (Lifecycle.DRAINING, 3)


async def test_a_process_that_counts_late_closes_no_revision_that_serves(engine: Engine) -> None:
    """Its drain was ended by another process, and it was warmed up again."""
    await begin(engine, "v1")

    async def finish() -> None:
        await engine.deployments.drain(TALK, "v1")
        await warm(engine, "v1")

    with (
        meanwhile(engine.store.client, "hf_revision_close", once(finish)),
        pytest.raises(StaleLifecycle),
    ):
        await engine.deployments.drain(TALK, "v1")
    assert await lifecycle(engine, "v1") is Lifecycle.READY
    for number in range(3):
        await engine.submit("work", id=f"w{number}", requires=(capability("v1"),))
    assert (await engine.deployments.drain(TALK, "v1")).running == 3
    with pytest.raises(RevisionDraining):
        await engine.submit("work", requires=(capability("v1"),))


async def test_a_process_that_judges_late_opens_no_revision_that_is_over(engine: Engine) -> None:
    """Another one judged it, and it has drained since."""
    await begin(engine)
    await engine.deployments.stage(TALK, revision_id="v1")
    seen = await engine.deployments.warm(TALK, "v1")

    async def finish() -> None:
        await engine.deployments.judge(TALK, "v1", PASSED, seen=seen.version)
        await engine.deployments.drain(TALK, "v1")

    with (
        meanwhile(engine.store.client, "hf_revision_open", once(finish)),
        pytest.raises(StaleLifecycle),
    ):
        await engine.deployments.judge(TALK, "v1", PASSED, seen=seen.version)
    assert await lifecycle(engine, "v1") is Lifecycle.INACTIVE
    with pytest.raises(RevisionDraining):
        await engine.submit("work", requires=(capability("v1"),))


async def test_a_replay_after_a_drain_is_counted(engine: Engine) -> None:
    """It needs the revision again, though nothing else may start on it."""
    await begin(engine, "v1")
    made = await engine.submit("work", requires=(capability("v1"),))
    await engine.cancel(made.id, "no")
    assert (await engine.deployments.drain(TALK, "v1")).lifecycle is Lifecycle.INACTIVE
    await engine.replay(made.id)
    again = await engine.deployments.drain(TALK, "v1")
    assert (again.lifecycle, again.running) == (Lifecycle.INACTIVE, 1)


async def test_no_conversation_starts_on_a_revision_that_is_inactive(engine: Engine) -> None:
    """Though routers that have not heard of the drain try all the time."""
    await publish(engine)
    await begin(engine, "v1")
    refused = 0

    async def lag(router: int) -> None:
        nonlocal refused
        for number in range(20):
            user = f"{router}-{number}"
            try:
                delivered = await engine.sessions.deliver(NAME, message("hi", user), revision="v1")
            except RevisionDraining:
                refused += 1
            else:
                await asyncio.sleep(0)
                await engine.sessions.end(delivered.session)

    async def drain() -> None:
        await asyncio.sleep(0.01)
        revision = await engine.deployments.drain(TALK, "v1")
        while revision.lifecycle is not Lifecycle.INACTIVE:
            revision = await engine.deployments.drain(TALK, "v1")

    await asyncio.gather(drain(), *(lag(router) for router in range(8)))
    assert refused > 0
    (found,) = (await engine.deployments.get(TALK)).revisions
    assert (found.lifecycle, found.running, found.waiting) == (Lifecycle.INACTIVE, 0, 0)


async def test_of_racing_changes_of_one_generation_one_wins(engine: Engine) -> None:
    """Each of the others is told the generation that it has not seen."""
    await begin(engine, "v1", "v2")
    calls = [
        engine.deployments.set_split(
            TALK,
            [
                SplitEntry(revision="v1", weight_bps=10_000 - share),
                SplitEntry(revision="v2", weight_bps=share),
            ],
            expected_generation=0,
        )
        for share in range(8)
    ]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    lost = [answer for answer in answers if isinstance(answer, StaleGeneration)]
    assert len(lost) == 7
    assert {error.context["generation"] for error in lost} == {1}
    assert (await engine.deployments.get(TALK)).split.generation == 1


async def test_a_split_and_a_drain_cannot_both_win(engine: Engine) -> None:
    """A routable revision never drains, whoever comes first."""
    await begin(engine, *(f"v{number}" for number in range(10)))
    for number in range(10):
        split = (await engine.deployments.get(TALK)).split
        with contextlib.suppress(Conflict):
            await asyncio.gather(
                route(engine, f"v{number}", split.generation),
                engine.deployments.drain(TALK, f"v{number}"),
            )
        found = await engine.deployments.get(TALK)
        routable = {one.revision for one in found.split.entries if one.weight_bps}
        drained = {one.id for one in found.revisions if one.lifecycle is not Lifecycle.READY}
        assert not routable & drained


async def test_hosts_are_notified_of_changes(engine: Engine) -> None:
    """First of everything that there is, then of what changes, and of no change that is none."""
    await engine.envs.put("prod")
    await begin(engine, "v1")
    seen: list[Sequence[Deployment]] = []

    async def watch() -> None:
        async for changed in engine.deployments.watch("local"):
            seen.append(changed)  # noqa: PERF401 - as they come

    async def has_seen(count: int) -> None:
        async def enough() -> bool:
            return len(seen) >= count

        await wait_for(enough, timeout_s=AT_ONCE_S)

    watching = asyncio.ensure_future(watch())
    await has_seen(1)
    await engine.deployments.create(
        NewDeployment(env="prod", id="other", tenant="default", app=NAME)
    )
    await route(engine, "v1", 0)
    await has_seen(2)
    await route(engine, "v1", 1)
    await engine.deployments.stage(TALK, revision_id="v2")
    await has_seen(3)
    watching.cancel()
    assert [[one.id for one in changed] for changed in seen] == [["talk"]] * 3
    assert [changed[0].split.generation for changed in seen] == [0, 1, 1]
    assert len(seen[2][0].revisions) == 2


async def test_a_failed_gate_fails_the_revision(engine: Engine) -> None:
    """With the reason; it can be warmed up again, and an old verdict does not count."""
    await begin(engine)
    await engine.deployments.stage(TALK, revision_id="v1")
    seen = await engine.deployments.warm(TALK, "v1")
    gates = [*PASSED, Gate(name="providers", passed=False, reason="slack does not answer")]
    failed = await engine.deployments.judge(TALK, "v1", gates, seen=seen.version)
    assert (failed.lifecycle, failed.gates) == (Lifecycle.FAILED, tuple(gates))
    again = await engine.deployments.warm(TALK, "v1")
    with pytest.raises(StaleLifecycle):
        await engine.deployments.judge(TALK, "v1", PASSED, seen=seen.version)
    ready = await engine.deployments.judge(TALK, "v1", PASSED, seen=again.version)
    assert (await engine.deployments.warm(TALK, "v1")) == ready


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("digest", lambda d: d.stage(TALK, digest=digest("a"))),
        ("digest", lambda d: d.stage(TALK, digest="md5:1")),
        ("overlays", lambda d: d.stage(TALK, overlays=[digest("a")] * 17)),
        ("config", lambda d: d.stage(TALK, config={"a": object()})),
        ("revision", lambda d: d.stage(TALK, revision_id="x" * 125)),
        ("deadline_ms", lambda d: d.drain(TALK, "v1", deadline_ms=-1)),
        ("gates", lambda d: d.judge(TALK, "v1", [], seen=1)),
        ("limit", lambda d: d.needs(TALK, "v1", limit=0)),
        ("cursor", lambda d: d.needs(TALK, "v1", cursor="x")),
        ("text", lambda d: d.set_restart_text(TALK, "")),
        ("to_generation", lambda d: d.rollback(TALK, to_generation=0)),
        ("idempotency_key", lambda d: d.rollback(TALK, idempotency_key="")),
    ],
)
async def test_arguments_are_checked(engine: Engine, field: str, call: object) -> None:
    """Before the store is changed."""
    await begin(engine, "v1")
    with pytest.raises(InvalidInput) as raised:
        await call(engine.deployments)  # type: ignore[operator]
    assert raised.value.context["field"] == field


async def test_a_deployment_of_a_pack_needs_its_digest(engine: Engine) -> None:
    """A deployment is of a pack or of an app, not of both."""
    new = NewDeployment(env="local", id="shop", tenant="acme", pack="shop")
    shop = (await engine.deployments.create(new))[0].ref
    with pytest.raises(InvalidInput, match="runs a pack"):
        await engine.deployments.stage(shop)
    pack, _ = await engine.packs.put(upload("a"), tenant="acme")
    config = {"b": 1, "a": [True]}
    first, created = await engine.deployments.stage(
        shop, digest=pack.digest, revision_id="v1", config=config
    )
    assert (created, first.config) == (True, config)
    reordered = {"a": [True], "b": 1}
    again = await engine.deployments.stage(
        shop, digest=pack.digest, revision_id="v1", config=reordered
    )
    assert again == (first, False)
    for own, app in ((None, None), ("a", "b")):
        with pytest.raises(InvalidInput, match="required"):
            NewDeployment(env="local", id="x", tenant="acme", pack=own, app=app)


async def test_envs_are_found_by_name(engine: Engine) -> None:
    """`local` is always there."""
    assert (await engine.envs.get("local")).unsigned_packs
    with pytest.raises(EnvNotFound):
        await engine.envs.get("prod")
    env, created = await engine.envs.put("prod")
    assert (created, env.name, env.trust) == (True, "prod", ())
    assert [one.name for one in await engine.envs.list()] == ["local", "prod"]
    with pytest.raises(InvalidInput):
        Env(name="prod", trust=("nonsense",))
