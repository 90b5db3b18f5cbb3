"""hf_revision_stage."""

from __future__ import annotations

import pytest

from holdfast.errors import (
    DeploymentNotFound,
    PackMismatch,
    PackNotFound,
    RevisionConflict,
    TooManyRevisions,
    UntrustedPack,
)
from holdfast.model.deployments import DeploymentRef
from holdfast.model.envs import Env
from holdfast.model.packs import PackEntries
from holdfast.model.revisions import Lifecycle
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.deployments import create, described, digest, key, stage, upload
from tests.support.lifecycle import Dump, refused


async def test_a_revision_is_as_it_was_staged(store: Store, clock: Clock) -> None:
    """Its packs with their archives and signers, and its config."""
    ref = await create(store, "shop", pack="shop")
    flows = {"main": "messaging", "nightly": "timer"}
    signed = upload("a", signers=(key("k"),), entry="main", flows=flows)
    pack, _ = await store.packs.put(signed, "default")
    overlay, _ = await store.packs.put(upload("b", id="extra"), "default")
    digests = (pack.digest, overlay.digest)
    staged = store.deployments.stage(ref, "blue", digests, b'{"a":1}', packs_of=None)
    assert await staged is True
    (found,) = (await described(store, ref)).revisions
    assert (found.id, found.number, found.lifecycle, found.version) == (
        "blue",
        1,
        Lifecycle.STAGED,
        1,
    )
    assert (found.digest, found.overlays) == (pack.digest, (overlay.digest,))
    assert (found.archives, found.signers) == ((pack.archive, overlay.archive), (key("k"),))
    assert found.entries == (
        PackEntries(pack="shop", entry="main", flows=flows),
        PackEntries(pack="extra"),
    )
    assert (found.config, found.staged_at) == ({"a": 1}, clock.now)


async def test_the_same_again_changes_nothing(store: Store, dump: Dump) -> None:
    """It is safe to send twice, also after it has moved on."""
    ref = await create(store)
    await stage(store, ref, "blue", Lifecycle.READY)
    before = dump()
    assert await store.deployments.stage(ref, "blue", (), b"{}", packs_of=None) is False
    assert dump() == before


async def test_an_id_means_one_revision_of_the_store(store: Store, dump: Dump) -> None:
    """Other content, or another deployment, even of another tenant."""
    ref = await create(store)
    await stage(store, ref, "blue")
    other = store.deployments.stage(ref, "blue", (), b'{"a":1}', packs_of=None)
    await refused(other, RevisionConflict, dump, id="blue")
    elsewhere = await create(store, tenant="acme")
    await refused(stage(store, elsewhere, "blue"), RevisionConflict, dump, id="blue")


async def test_a_pack_must_be_there_and_be_the_one_that_the_deployment_runs(
    store: Store, dump: Dump
) -> None:
    """By its id, which the manifest has."""
    ref = await create(store, "shop", pack="shop")
    nothing = store.deployments.stage(ref, "blue", [digest("a")], b"{}", packs_of=None)
    await refused(nothing, PackNotFound, dump, digest=digest("a"))
    await store.packs.put(upload("a", id="other"), "default")
    other = store.deployments.stage(ref, "blue", [digest("a")], b"{}", packs_of=None)
    context = {"digest": digest("a"), "pack": "other", "expected": "shop"}
    await refused(other, PackMismatch, dump, **context)


@pytest.mark.parametrize(("owner", "is_found"), [("acme", True), ("other", False), (None, True)])
async def test_a_tenant_stages_its_own_packs(
    store: Store, dump: Dump, owner: str | None, *, is_found: bool
) -> None:
    """An operator stages those of every tenant."""
    await store.packs.put(upload("a"), "acme")
    ref = await create(store, "shop", pack="shop", tenant=owner or "third")
    call = store.deployments.stage(ref, "blue", [digest("a")], b"{}", packs_of=owner)
    if is_found:
        assert await call is True
    else:
        await refused(call, PackNotFound, dump, digest=digest("a"))


async def test_the_pack_of_the_deployments_tenant_is_preferred(store: Store) -> None:
    """Several tenants may have uploaded the same content, each with signatures of its own."""
    for tenant in ("acme", "first", "zebra"):
        await store.packs.put(upload("a", signers=(key(tenant[0]),)), tenant)
    for tenant in ("acme", "first", "zebra"):
        ref = await create(store, "shop", pack="shop", tenant=tenant)
        await store.deployments.stage(ref, f"of-{tenant}", [digest("a")], b"{}", packs_of=None)
        (found,) = (await described(store, ref)).revisions
        assert found.signers == (key(tenant[0]),)


async def test_an_env_takes_only_packs_that_it_trusts(store: Store, dump: Dump) -> None:
    """Each of them, overlays too; or all, if it says so."""
    await store.envs.put(Env(name="prod", trust=(key("t"),)))
    ref = await create(store, "shop", pack="shop", env="prod")
    await store.packs.put(upload("a"), "default")
    await store.packs.put(upload("b", signers=(key("u"), key("t"))), "default")
    for digests in ([digest("a")], [digest("b"), digest("a")]):
        call = store.deployments.stage(ref, "blue", digests, b"{}", packs_of=None)
        await refused(call, UntrustedPack, dump, digest=digest("a"), env="prod")
    assert await store.deployments.stage(ref, "blue", [digest("b")], b"{}", packs_of=None)
    await store.envs.put(Env(name="prod", unsigned_packs=True))
    assert await store.deployments.stage(ref, "green", [digest("a")], b"{}", packs_of=None)


async def test_local_trusts_nobody_once_it_was_put_so(store: Store, dump: Dump) -> None:
    """Before, it accepts every pack."""
    ref = await create(store, "shop", pack="shop")
    await store.packs.put(upload("a"), "default")
    assert await store.deployments.stage(ref, "blue", [digest("a")], b"{}", packs_of=None)
    await store.envs.put(Env(name="local"))
    call = store.deployments.stage(ref, "green", [digest("a")], b"{}", packs_of=None)
    await refused(call, UntrustedPack, dump, digest=digest("a"), env="local")


async def test_a_deployment_has_at_most_two_hundred_revisions(store: Store, dump: Dump) -> None:
    """The next needs room."""
    ref = await create(store)
    for number in range(200):
        await store.deployments.stage(ref, f"r-{number}", (), b"{}", packs_of=None)
    await refused(stage(store, ref, "blue"), TooManyRevisions, dump, id="talk", limit=200)


async def test_a_deployment_must_be_there(store: Store, dump: Dump) -> None:
    """As for any call."""
    ref = DeploymentRef(env="local", id="talk")
    await refused(stage(store, ref, "blue"), DeploymentNotFound, dump, id="talk", env="local")
