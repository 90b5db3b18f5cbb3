"""Ways to the answers of the archive, of API keys and of the audit log."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from holdfast.archive import set_archive
from holdfast.archive.archive import KEY
from holdfast.fencing import FolderObjects, paths
from holdfast.model import bounds
from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, about_nothing, declaring, way
from tests.server.samples import Request

MANIFEST = "GET /v1/archive/manifest"
CREATE_KEY = "POST /v1/keys"
REVOKE_KEY = "DELETE /v1/keys/{key}"
AUDIT = "GET /v1/audit"

way("key_not_found", REVOKE_KEY)(about_nothing)


@way(200, MANIFEST)
async def enabled(stage: Stage, name: str) -> Request:
    """Have an archive."""
    store = stage.engine.store
    if await store.archives.url() is None:
        await set_archive(store, str(stage.folder))
    return await stage.request(name)


@contextlib.asynccontextmanager
async def _archive_at(stage: Stage, folder: Path | None) -> AsyncIterator[None]:
    """Have the archive elsewhere, or nowhere, while the block runs."""
    archives = stage.engine.store.archives
    before = await archives.url()
    await archives.set_url(None if folder is None else str(folder))
    try:
        yield
    finally:
        await archives.set_url(before)


@way("not_found", MANIFEST)
async def _no_archive(stage: Stage, name: str) -> httpx.Response:
    async with _archive_at(stage, None):
        return await stage.send(await stage.request(name))


@way("invalid_record", *(name for name in declaring("invalid_record") if "/archive" in name))
async def _damaged(stage: Stage, name: str) -> httpx.Response:
    request, folder = await stage.request(name), stage.folder / new_id()
    await FolderObjects(folder).put_if_absent(paths.manifest(KEY), b"damaged")
    async with _archive_at(stage, folder):
        return await stage.send(request)


@way("backend", *(name for name in declaring("backend") if "/archive" in name))
async def _no_object(stage: Stage, name: str) -> httpx.Response:
    """Somebody has put a file of his own in the place of the manifest."""
    request, folder = await stage.request(name), stage.folder / new_id()
    path = folder / "objects" / paths.manifest(KEY)
    path.parent.mkdir(parents=True)
    path.write_text("what is this?")
    async with _archive_at(stage, folder):
        return await stage.send(request)


@way("too_many_keys", CREATE_KEY)
async def _one_more(stage: Stage, name: str) -> httpx.Response:
    others = [f"key-{n}" for n in range(bounds.API_KEYS)]
    known = f"{stage.engine.store.global_tag}:accesses"
    await stage.write("SADD", known, *others)
    try:
        return await stage.send(await stage.request(name))
    finally:
        await stage.write("SREM", known, *others)


@way(200, AUDIT)
async def _of_a_tenant(stage: Stage, name: str) -> Request:
    return await stage.request(name, key=stage.operator)
