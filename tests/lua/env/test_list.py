"""hf_env_list."""

from __future__ import annotations

from holdfast.model.envs import LOCAL, Env
from holdfast.store.store import Store


async def test_local_needs_no_creation(store: Store) -> None:
    """It accepts every pack until it is put otherwise."""
    assert await store.envs.list() == [LOCAL]
    await store.envs.put(Env(name="local"))
    (found,) = await store.envs.list()
    assert not found.unsigned_packs


async def test_envs_are_listed_by_name(store: Store) -> None:
    """With `local` among them."""
    for name in ("prod", "dev"):
        await store.envs.put(Env(name=name))
    assert [env.name for env in await store.envs.list()] == ["dev", "local", "prod"]
