"""hf_env_remove."""

from __future__ import annotations

from holdfast.errors import EnvInUse
from holdfast.model.envs import Env
from holdfast.store.store import Store
from tests.support.deployments import create
from tests.support.lifecycle import Dump, refused


async def test_an_env_goes_when_it_has_no_deployments(store: Store, dump: Dump) -> None:
    """A second call finds nothing, and nothing of it is left."""
    await store.envs.put(Env(name="prod", unsigned_packs=True))
    ref = await create(store, env="prod")
    context = {"env": "prod", "deployment": "talk", "tenant": "default"}
    await refused(store.envs.remove("prod"), EnvInUse, dump, **context)
    await store.deployments.remove(ref)
    assert [await store.envs.remove("prod") for _ in range(2)] == [True, False]
    assert [env.name for env in await store.envs.list()] == ["local"]
    assert not [key for key in dump() if "prod" in key]
