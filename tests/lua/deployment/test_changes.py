"""hf_deployment_changes."""

from __future__ import annotations

from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from tests.support.deployments import create, route, stage


async def test_only_what_changed_after_a_number_is_read(store: Store) -> None:
    """Each deployment once, as it is now, in the order of the last changes."""
    assert await store.deployments.changes("local", 0, 50) == (0, [])
    first, second = await create(store, "a"), await create(store, "b")
    last, found = await store.deployments.changes("local", 0, 50)
    assert (last, [one.id for one in found]) == (2, ["a", "b"])
    await stage(store, first, "blue", Lifecycle.READY)
    await route(store, first, blue=10_000)
    last, found = await store.deployments.changes("local", 2, 50)
    assert [(one.id, one.split.generation) for one in found] == [("a", 1)]
    assert found[0].change == last == 6
    await stage(store, second, "green")
    assert [one.id for one in (await store.deployments.changes("local", 0, 1))[1]] == ["a"]


async def test_a_change_of_equal_content_is_none(store: Store) -> None:
    """Hosts have nothing to read, and nobody moves."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    await route(store, ref, blue=10_000)
    before, _ = await store.deployments.changes("local", 0, 50)
    await route(store, ref, key="other", blue=10_000)
    await store.deployments.move(ref, "blue", Lifecycle.READY)
    await stage(store, ref, "blue")
    await create(store)
    assert await store.deployments.changes("local", before, 50) == (before, [])
