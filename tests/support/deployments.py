"""Deployments for tests: of a pack or an app, with revisions as far along as a test needs them."""

from __future__ import annotations

from typing import Any

from holdfast.model.deployments import Deployment, DeploymentRef, NewDeployment, Split, SplitEntry
from holdfast.model.packs import PackUpload
from holdfast.model.revisions import Lifecycle, Revision
from holdfast.store.store import Store

#: A way to every state that a revision can be in, from the one in which it is staged.
WAYS: dict[Lifecycle, tuple[Lifecycle, ...]] = {
    Lifecycle.STAGED: (),
    Lifecycle.WARMING: (Lifecycle.WARMING,),
    Lifecycle.READY: (Lifecycle.WARMING, Lifecycle.READY),
    Lifecycle.DRAINING: (Lifecycle.WARMING, Lifecycle.READY, Lifecycle.DRAINING),
    Lifecycle.INACTIVE: (
        Lifecycle.WARMING,
        Lifecycle.READY,
        Lifecycle.DRAINING,
        Lifecycle.INACTIVE,
    ),
    Lifecycle.FAILED: (Lifecycle.WARMING, Lifecycle.FAILED),
    Lifecycle.ARCHIVED: (Lifecycle.ARCHIVED,),
}


def digest(letter: str) -> str:
    """Return a digest that is easy to tell from others."""
    return f"sha256:{letter * 64}"


def key(letter: str) -> str:
    """Return the line of a public key."""
    return f"ed25519:{letter * 43}="


def upload(letter: str = "a", **fields: Any) -> PackUpload:
    """Return a pack; the store does not look into its archive."""
    given = {"id": "shop", "version": "1.0.0", "archive": letter.encode() * 100, **fields}
    return PackUpload(digest=digest(letter), **given)


async def create(store: Store, deployment: str = "talk", **fields: Any) -> DeploymentRef:
    """Create a deployment of an app, in the env `local` and the tenant `default`."""
    given = {"env": "local", "tenant": "default", "app": "bot", **fields}
    if "pack" in fields:
        del given["app"]
    new = NewDeployment(id=deployment, **given)
    await store.deployments.create(new)
    return DeploymentRef(env=new.env, id=new.id, tenant=new.tenant)


async def stage(
    store: Store, ref: DeploymentRef, revision: str, state: Lifecycle = Lifecycle.STAGED
) -> Revision:
    """Stage a revision and move it to a state."""
    await store.deployments.stage(ref, revision, (), b"{}", packs_of=None)
    for step in WAYS[state]:
        await store.deployments.move(ref, revision, step)
    found = (await store.deployments.get(ref)).revision(revision)
    assert found is not None
    return found


def entries(**weights: int) -> list[SplitEntry]:
    """Return the entries of a split, sorted."""
    return [
        SplitEntry(revision=revision, weight_bps=weight)
        for revision, weight in sorted(weights.items())
    ]


async def route(store: Store, ref: DeploymentRef, *, key: str = "", **weights: int) -> Split:
    """Set the split, whatever it is now."""
    current = (await store.deployments.get(ref)).split.generation
    return await store.deployments.set_split(
        ref, entries(**weights), expected=current, key=key or f"key-{current}"
    )


def shares(split: Split) -> dict[str, int]:
    """Return the weights of a split by revision."""
    return {entry.revision: entry.weight_bps for entry in split.entries}


async def described(store: Store, ref: DeploymentRef) -> Deployment:
    """Return a deployment."""
    return await store.deployments.get(ref)
