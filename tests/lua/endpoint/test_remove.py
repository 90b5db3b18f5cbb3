"""hf_endpoint_remove."""

from __future__ import annotations

from holdfast.model.endpoints import EndpointRef
from holdfast.store.store import Store
from tests.support.endpoints import new
from tests.support.lifecycle import Dump


async def test_an_endpoint_leaves_nothing(store: Store, dump: Dump) -> None:
    """Removed by its tenant, once."""
    before = dump()
    await store.endpoints.put(new(tenant="acme"))
    assert await store.endpoints.remove(EndpointRef(id="inbox", tenant="other")) is None
    assert await store.endpoints.remove(EndpointRef(id="inbox", tenant="acme")) == "acme"
    assert await store.endpoints.remove(EndpointRef(id="inbox")) is None
    assert dump() == before
