"""hf_pack_remove, and the sweep of archives: hf_pack_unused, unseal, swept, reseal."""

from __future__ import annotations

import pytest

from holdfast.errors import PackInUse, PackNotFound
from holdfast.model.packs import digest_of
from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from holdfast.store.valkey import keys
from tests.support.deployments import create, key, upload
from tests.support.lifecycle import Dump, refused

A = upload("a")
ARCHIVE = digest_of(A.archive)


async def packs_of(store: Store, tenant: str) -> list[str]:
    """The digests of a tenant's packs."""
    return [pack.digest for pack in (await store.packs.page(tenant, 10, None))[0]]


async def is_kept(store: Store, archive: str = ARCHIVE) -> bool:
    """Whether an archive can be read."""
    try:
        await store.packs.archive(archive)
    except PackNotFound:
        return False
    return True


async def test_a_pack_goes_with_its_archive(store: Store) -> None:
    """As soon as no tenant has it; a second call finds nothing."""
    for tenant in ("acme", "beta"):
        await store.packs.put(A, tenant)
    await store.packs.remove(A.digest, "acme")
    assert (await packs_of(store, "acme"), await packs_of(store, "beta")) == ([], [A.digest])
    assert await is_kept(store)
    assert [await store.packs.remove(A.digest, "beta") for _ in range(2)] == [True, False]
    assert not await is_kept(store)
    # Uploaded again, it is there again.
    await store.packs.put(A, "acme")
    assert await is_kept(store)


@pytest.mark.parametrize("tenant", ["default", "other"])
async def test_a_pack_that_a_revision_can_load_stays(store: Store, dump: Dump, tenant: str) -> None:
    """Until the revision is archived. The name of another tenant's revision is not told."""
    await store.packs.put(A, "default")
    ref = await create(store, pack="shop", tenant=tenant)
    await store.deployments.stage(ref, "blue", (A.digest,), b"{}", packs_of=None)
    foreign = "a revision of another tenant"
    by = "revision blue of deployment talk in env local" if tenant == "default" else foreign
    call = store.packs.remove(A.digest, "default")
    await refused(call, PackInUse, dump, digest=A.digest, by=by)
    await store.deployments.move(ref, "blue", Lifecycle.ARCHIVED)
    await store.packs.remove(A.digest, "default")
    assert not await is_kept(store)


async def test_the_archive_that_another_one_replaced_goes(store: Store) -> None:
    """The one with more signatures stays."""
    await store.packs.put(A, "acme")
    signed = upload("a", signers=(key("a"),), archive=b"b" * 100)
    await store.packs.put(signed, "acme")
    await store.packs.sweep()
    assert (await is_kept(store), await is_kept(store, digest_of(signed.archive))) == (False, True)


async def test_a_sweep_that_finds_an_archive_in_use_keeps_it(store: Store) -> None:
    """One that died before let its parts expire."""
    await store.packs.put(A, "acme")
    caller, tag = store.packs._call, keys.archive_tag(store.prefix, ARCHIVE)
    await caller.write("hf_pack_remove", store.global_tag, "acme", A.digest)
    await caller.write("hf_pack_unseal", tag, "60000")
    await caller.write("hf_pack_register", store.global_tag, "acme", A.digest, *_REST)
    assert not await is_kept(store)
    await store.packs.sweep()
    assert await is_kept(store)
    assert await caller.read("hf_pack_unused", store.global_tag, "10") == []


_REST = ("shop", "1.0.0", ARCHIVE, "100", b"\x90", "", b"\x90")
