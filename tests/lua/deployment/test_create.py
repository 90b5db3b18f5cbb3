"""hf_deployment_create."""

from __future__ import annotations

import pytest

from holdfast.errors import DeploymentConflict, EnvNotFound, InvalidInput
from holdfast.model.deployments import NewDeployment
from holdfast.model.envs import Env
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, described
from tests.support.lifecycle import Dump, refused

SHOP = NewDeployment(
    env="local",
    id="shop",
    tenant="acme",
    pack="shop",
    hosts=("Shop.Example",),
    path_prefixes=("/chat/",),
)


async def test_a_deployment_is_as_it_was_asked_for(store: Store, clock: Clock) -> None:
    """With its routes in one form, and a split that routes nowhere."""
    assert await store.deployments.create(SHOP) is True
    (found,) = (await store.deployments.page("local", None, 50, None))[0]
    assert (found.id, found.env, found.tenant, found.pack, found.app) == (
        "shop",
        "local",
        "acme",
        "shop",
        None,
    )
    assert (found.hosts, found.path_prefixes) == (("shop.example",), ("/chat",))
    assert (found.created_at, found.change, found.split.generation) == (clock.now, 1, 0)
    assert (found.revisions, found.past) == ((), ())


async def test_the_same_again_is_no_news(store: Store, dump: Dump) -> None:
    """It is safe to send twice."""
    await store.deployments.create(SHOP)
    before = dump()
    assert await store.deployments.create(SHOP) is False
    assert dump() == before


async def test_other_content_is_refused(store: Store, dump: Dump) -> None:
    """An id means one deployment of its tenant, and only of its tenant."""
    await store.deployments.create(SHOP)
    other = NewDeployment(env="local", id="shop", tenant="acme", app="bot")
    await refused(store.deployments.create(other), DeploymentConflict, dump, id="shop", env="local")
    assert await create(store, "shop", tenant="default")


async def test_an_env_must_exist(store: Store, dump: Dump) -> None:
    """`local` always does."""
    new = NewDeployment(env="prod", id="shop", tenant="acme", app="bot")
    await refused(store.deployments.create(new), EnvNotFound, dump, env="prod")
    await store.envs.put(Env(name="prod"))
    assert await store.deployments.create(new) is True
    ref = await create(store, "shop", env="prod", tenant="acme")
    assert (await described(store, ref)).change == 1


@pytest.mark.parametrize("routes", [{"hosts": ("a.example:80",)}, {"path_prefixes": ("chat",)}])
def test_routes_have_a_form(routes: dict[str, tuple[str, ...]]) -> None:
    """A host without a port, a path from the root."""
    with pytest.raises(InvalidInput, match="must be a"):
        NewDeployment(env="local", id="shop", tenant="acme", app="bot", **routes)  # type: ignore[arg-type]
