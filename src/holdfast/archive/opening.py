"""The archive of a store: where it is is a setting of the store."""

from __future__ import annotations

from holdfast.archive.archive import Archive
from holdfast.errors import InvalidInput
from holdfast.fencing import urls
from holdfast.model import bounds, checks
from holdfast.model.archive import Survey
from holdfast.model.references import LEAST_BYTES
from holdfast.store.store import Store


async def set_archive(store: Store, url: str, *, offload_bytes: int | None = None) -> None:
    """Have ended executions kept back for the archive at this URL, which must be able to fence.

    Inputs and results over `offload_bytes` are kept there from the start, fetched when needed.
    """
    if offload_bytes is not None:
        checks.integer("offload_bytes", offload_bytes, LEAST_BYTES, bounds.PAYLOAD_BYTES)
    if url.startswith("memory:"):
        raise InvalidInput("archive: must outlive this process", field="archive")
    await urls.open_objects(url)
    await store.archives.set_url(url)
    await store.archives.set_offload(offload_bytes)


async def unset_archive(store: Store) -> None:
    """Archive nothing more; what waits is given back to retention.

    Executions whose input or result is kept there lose it: let them end and be archived first.
    """
    await store.archives.set_url(None)


async def find_archive(store: Store) -> Archive | None:
    """Return the archive of a store for reading, None if it has none."""
    url = await store.archives.url()
    return None if url is None else Archive(urls.parse(url))


async def survey(store: Store) -> Survey:
    """Say where the archive of a store is, what is in it, and what waits for it."""
    url = await store.archives.url()
    waiting, _ = await store.archives.waiting()
    known = None if url is None else await Archive(urls.parse(url)).status()
    return Survey(url=url, waiting=waiting, archive=known)


async def open_archive(store: Store) -> Archive:
    """Return the archive of a store; raises InvalidInput if it has none."""
    archive = await find_archive(store)
    if archive is None:
        message = "the store has no archive: `holdfast archive enable URL` sets one"
        raise InvalidInput(message, field="archive")
    return archive
