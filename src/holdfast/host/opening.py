"""Everything that the nodes of a bundle need, put together on a store."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable

from holdfast.api import Engine
from holdfast.engine.engine import Engine as NearEngine
from holdfast.errors import NotOverHttp
from holdfast.host.components import Components, Sandbox, SandboxSettings, Services
from holdfast.host.components.slots import Slots
from holdfast.host.components.states import PackStates
from holdfast.host.flows.runners import Runners
from holdfast.host.grants import Grants
from holdfast.host.models import ModelNodes
from holdfast.host.packs.packs import Bundle
from holdfast.host.providers import ProviderNodes
from holdfast.host.tenant_state import TenantState
from holdfast.host.vault import Vault
from holdfast.host.web import Web, requests
from holdfast.host.web.nodes import HttpNodes
from holdfast.model.session_keys import DEFAULT_ENV


@contextlib.asynccontextmanager
async def open_runners(
    bundle: Bundle,
    engine: Engine,
    *,
    sandbox: SandboxSettings | None = None,
    calls: Slots | None = None,
    allow_private: Iterable[str] = (),
    trusted: bool = False,
    tenants: Iterable[str] = (),
    env: str = DEFAULT_ENV,
) -> AsyncIterator[Runners]:
    """Load the components of packs and give what runs their nodes, while the block runs.

    Args:
        bundle: the main pack and its overlays.
        engine: the engine of a store, which has the secrets and the state of tenants.
        sandbox: how components run.
        calls: counts the calls of tenants, together with those of other packs.
        allow_private: addresses that packs may reach although they are not public.
        trusted: run Python components of packs that no trusted key has signed.
        tenants: tenants whose keys of models must be set.
        env: where they must be set.

    Raises:
        InvalidPack: a component or a schema cannot be loaded, or a tenant lacks a key.
        NotOverHttp: the engine is a client of a server.
    """
    if not isinstance(engine, NearEngine):
        raise NotOverHttp("a host of packs needs the store itself: secrets do not travel over HTTP")
    grants = Grants.of(bundle)
    vault, states = Vault(engine.secrets), PackStates(engine.store)
    async with contextlib.AsyncExitStack() as stack:
        web = Web(allow_private=allow_private)
        stack.push_async_callback(web.close)
        box = Sandbox(sandbox, calls)
        stack.callback(box.close)
        services = Services(states=states, vault=vault, web=web)
        components = await Components.load(bundle, box, services, trusted=trusted)
        stack.push_async_callback(components.close)
        models = ModelNodes(bundle, web, vault, components)
        for tenant in tenants:
            await models.check(tenant, env)
        yield Runners(
            call=components,
            http=HttpNodes(web, vault, grants.flows),
            llm=models,
            provider=ProviderNodes(bundle, components),
            state=TenantState(states, grants.flows),
            reach=lambda flow, url: requests.target(url, grants.flows[flow].hosts),
        )
