"""hf_endpoint_get."""

from __future__ import annotations

from holdfast.errors import EndpointNotFound
from holdfast.model.endpoints import EndpointRef
from holdfast.store.store import Store
from tests.support.endpoints import new
from tests.support.lifecycle import Dump, refused


async def test_an_endpoint_is_found_by_its_id(store: Store, dump: Dump) -> None:
    """A tenant that it does not belong to learns nothing of it."""
    await store.endpoints.put(new(tenant="acme"))
    for tenant in (None, "acme"):
        found = await store.endpoints.get(EndpointRef(id="inbox", tenant=tenant))
        assert (found.id, found.tenant) == ("inbox", "acme")
    for ref in (EndpointRef(id="inbox", tenant="other"), EndpointRef(id="none")):
        await refused(store.endpoints.get(ref), EndpointNotFound, dump, id=ref.id, env="local")
