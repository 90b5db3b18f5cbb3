"""Ways to the answers of the archive, of API keys and of the audit log."""

from __future__ import annotations

from pathlib import Path

import httpx

from holdfast.archive import set_archive, unset_archive
from holdfast.archive.archive import KEY
from holdfast.fencing import FolderObjects, keys
from holdfast.model import limits
from holdfast.model.ids import new_id
from tests.server.answers.ways import Stage, about_nothing, declaring, way
from tests.server.samples import Request

MANIFEST = "GET /v1/archive/manifest"
CREATE_KEY = "POST /v1/keys"
REVOKE_KEY = "DELETE /v1/keys/{key}"
AUDIT = "GET /v1/audit"

way("key_not_found", REVOKE_KEY)(about_nothing)


async def _archived(stage: Stage, name: str) -> tuple[Request, Path]:
    """Return a request, and the folder of the archive that it reads."""
    place = stage.folder / new_id()
    await set_archive(stage.engine.store, str(place))
    return await stage.request(name), place


@way(200, MANIFEST)
async def _empty(stage: Stage, name: str) -> Request:
    return (await _archived(stage, name))[0]


@way("not_found", MANIFEST)
async def _no_archive(stage: Stage, name: str) -> Request:
    await unset_archive(stage.engine.store)
    return await stage.request(name)


@way("invalid_record", *(name for name in declaring("invalid_record") if "archive" in name))
async def _damaged(stage: Stage, name: str) -> Request:
    request, folder = await _archived(stage, name)
    await FolderObjects(folder).put_if_absent(keys.manifest(KEY), b"damaged")
    return request


@way("backend", *(name for name in declaring("backend") if "archive" in name))
async def _no_object(stage: Stage, name: str) -> Request:
    """Somebody has put a file of his own in the place of the manifest."""
    request, folder = await _archived(stage, name)
    path = folder / "objects" / keys.manifest(KEY)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("what is this?")
    return request


@way("too_many_keys", CREATE_KEY)
async def _one_more(stage: Stage, name: str) -> httpx.Response:
    others = [f"key-{n}" for n in range(limits.API_KEYS)]
    known = f"{stage.engine.store.global_tag}:accesses"
    await stage.write("SADD", known, *others)
    try:
        return await stage.send(await stage.request(name))
    finally:
        await stage.write("SREM", known, *others)


@way(200, AUDIT)
async def _of_a_tenant(stage: Stage, name: str) -> Request:
    return await stage.request(name, key=stage.operator)
