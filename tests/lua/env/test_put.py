"""hf_env_put."""

from __future__ import annotations

from holdfast.model.envs import Env
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import key
from tests.support.lifecycle import Dump


async def test_an_env_is_as_it_was_put(store: Store, clock: Clock) -> None:
    """Its trust, and when it was first put."""
    env = Env(name="prod", trust=(key("b"), key("a")))
    assert await store.envs.put(env) is True
    await clock.advance(1_000)
    assert await store.envs.put(Env(name="prod", unsigned_packs=True)) is False
    (_, found) = await store.envs.list()
    assert (found.name, found.unsigned_packs, found.trust) == ("prod", True, ())
    assert found.created_at is not None
    assert found.created_at < clock.now


async def test_the_same_again_changes_nothing(store: Store, dump: Dump) -> None:
    """It is safe to send twice."""
    env = Env(name="prod", trust=(key("a"),))
    await store.envs.put(env)
    before = dump()
    assert await store.envs.put(env) is False
    assert dump() == before
