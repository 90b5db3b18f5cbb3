"""hf_revision_describe."""

from __future__ import annotations

from holdfast.errors import RevisionNotFound
from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from tests.support.deployments import create, described, stage
from tests.support.lifecycle import Dump, refused


async def test_a_revision_is_found_by_its_id_alone(store: Store, dump: Dump) -> None:
    """Of the tenant that asks, as its deployment shows it."""
    ref = await create(store, tenant="acme")
    await stage(store, ref, "blue", Lifecycle.READY)
    found = await store.deployments.revision("acme", "blue")
    assert found == (await described(store, ref)).revision("blue")
    for tenant, revision in (("other", "blue"), ("acme", "green")):
        asked = store.deployments.revision(tenant, revision)
        await refused(asked, RevisionNotFound, dump, id=revision)
