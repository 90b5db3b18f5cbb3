"""hf_revision_move."""

from __future__ import annotations

import itertools

import pytest

from holdfast.errors import (
    DeploymentNotFound,
    IllegalTransition,
    RevisionNotFound,
    RevisionRoutable,
    StaleLifecycle,
)
from holdfast.model.deployments import DeploymentRef
from holdfast.model.moments import from_ms
from holdfast.model.revisions import Gate, Lifecycle
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, described, route, stage
from tests.support.lifecycle import Dump, refused

#: The edges as docs/deployments.md has them.
LEGAL = {
    ("staged", "warming"),
    ("staged", "archived"),
    ("warming", "ready"),
    ("warming", "failed"),
    ("warming", "archived"),
    ("ready", "draining"),
    ("draining", "inactive"),
    ("inactive", "warming"),
    ("inactive", "archived"),
    ("failed", "warming"),
    ("failed", "archived"),
}


@pytest.mark.parametrize(
    ("source", "target"),
    list(itertools.product(Lifecycle, Lifecycle)),
    ids=lambda state: state.value,
)
async def test_only_the_legal_edges_exist(
    store: Store, dump: Dump, source: Lifecycle, target: Lifecycle
) -> None:
    """Of all pairs; staying where it is changes nothing."""
    ref = await create(store)
    before = await stage(store, ref, "blue", source)
    call = store.deployments.move(ref, "blue", target)
    if source is target:
        keys = dump()
        assert await call == before
        assert dump() == keys
    elif (source, target) in LEGAL:
        moved = await call
        assert (moved.lifecycle, moved.version) == (target, before.version + 1)
        assert (await described(store, ref)).revision("blue") == moved
    else:
        context = {"id": "blue", "lifecycle": source.value, "to": target.value}
        await refused(call, IllegalTransition, dump, **context)


async def test_a_call_with_nothing_left_to_do_changes_nothing(store: Store, dump: Dump) -> None:
    """Warming up what is ready must not demote it."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    before = dump()
    settled = (Lifecycle.WARMING, Lifecycle.READY)
    found = await store.deployments.move(ref, "blue", Lifecycle.WARMING, settled=settled)
    assert found.lifecycle is Lifecycle.READY
    assert dump() == before


async def test_a_verdict_holds_for_the_version_that_was_judged(store: Store, dump: Dump) -> None:
    """One on an earlier warm-up is refused, though the state has the same name."""
    ref = await create(store)
    seen = await stage(store, ref, "blue", Lifecycle.WARMING)
    await store.deployments.move(ref, "blue", Lifecycle.FAILED)
    now = await store.deployments.move(ref, "blue", Lifecycle.WARMING)
    late = store.deployments.move(ref, "blue", Lifecycle.READY, settled=(), seen=seen.version)
    await refused(late, StaleLifecycle, dump, id="blue", lifecycle="warming", version=now.version)
    fields = {"gates": b'[{"name":"loads","passed":true,"reason":""}]'}
    for _ in range(2):
        found = await store.deployments.move(
            ref, "blue", Lifecycle.READY, settled=(), seen=now.version, fields=fields
        )
        assert (found.lifecycle, found.version) == (Lifecycle.READY, now.version + 1)
        assert found.gates == (Gate(name="loads", passed=True),)


async def test_a_verdict_comes_too_late_after_one_change_by_another(
    store: Store, dump: Dump
) -> None:
    """Only a repeated call finds the state that it asks for, one version later."""
    ref = await create(store)
    seen = await stage(store, ref, "blue", Lifecycle.WARMING)
    now = await store.deployments.move(ref, "blue", Lifecycle.FAILED)
    late = store.deployments.move(ref, "blue", Lifecycle.READY, settled=(), seen=seen.version)
    await refused(late, StaleLifecycle, dump, id="blue", lifecycle="failed", version=now.version)


async def test_a_routable_revision_does_not_drain(store: Store, dump: Dump) -> None:
    """One with the weight 0 does."""
    ref = await create(store)
    for revision in ("blue", "green"):
        await stage(store, ref, revision, Lifecycle.READY)
    await route(store, ref, blue=10_000, green=0)
    call = store.deployments.move(ref, "blue", Lifecycle.DRAINING)
    await refused(call, RevisionRoutable, dump, id="blue")
    found = await store.deployments.move(ref, "green", Lifecycle.DRAINING)
    assert found.lifecycle is Lifecycle.DRAINING


async def test_a_deadline_counts_from_the_begin_of_the_drain(store: Store, clock: Clock) -> None:
    """Another one replaces it; none, and the same, change nothing."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    begin = clock.now_ms
    for drain_ms, expected, version in (("5000", 5_000, 4), ("", 5_000, 4), ("9000", 9_000, 4)):
        found = await store.deployments.move(
            ref, "blue", Lifecycle.DRAINING, fields={"drain_ms": drain_ms}
        )
        assert found.deadline_at == from_ms(begin + expected)
        assert (found.drained_at, found.version) == (from_ms(begin), version)
        await clock.advance(1_000)
    (last, _, _) = await store.deployments.events(ref, 3)
    assert last.event == "deadline"


async def test_the_last_fifty_archived_revisions_are_shown(store: Store) -> None:
    """Older ones make room."""
    ref = await create(store)
    for number in range(52):
        await stage(store, ref, f"r-{number}", Lifecycle.ARCHIVED)
    found = await described(store, ref)
    assert [one.id for one in found.revisions] == [f"r-{number}" for number in range(2, 52)]


async def test_what_is_not_there(store: Store, dump: Dump) -> None:
    """No such deployment, no such revision, or one of another deployment."""
    nothing = DeploymentRef(env="local", id="nothing")
    call = store.deployments.move(nothing, "blue", Lifecycle.WARMING)
    await refused(call, DeploymentNotFound, dump, id="nothing", env="local")
    ref, other = await create(store), await create(store, "other")
    await stage(store, other, "green")
    for revision in ("blue", "green"):
        call = store.deployments.move(ref, revision, Lifecycle.WARMING)
        await refused(call, RevisionNotFound, dump, id=revision)
