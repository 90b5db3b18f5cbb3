"""Sets the archive of a store."""

from __future__ import annotations

from holdfast.errors import InvalidInput
from holdfast.fencing import urls
from holdfast.model import bounds, checks
from holdfast.model.references import LEAST_BYTES
from holdfast.store.store import Store


async def set_archive(store: Store, url: str, *, offload_bytes: int | None = None) -> None:
    """Keep ended executions for the archive at this URL, whose storage must be able to fence.

    Inputs and results over `offload_bytes` are stored there from the start and fetched on demand.
    """
    if offload_bytes is not None:
        checks.integer("offload_bytes", offload_bytes, LEAST_BYTES, bounds.PAYLOAD_BYTES)
    if url.startswith("memory:"):
        raise InvalidInput("archive: must outlive this process", field="archive")
    await urls.open_objects(url)
    await store.archives.set_url(url)
    await store.archives.set_offload(offload_bytes)


async def unset_archive(store: Store) -> None:
    """Stop archiving; retention applies to the waiting executions again.

    Inputs and results that are stored there are still read from it.
    """
    await store.archives.set_url(None)


async def forget_archive(store: Store, url: str) -> None:
    """Look for nothing in a former archive any more, such as one whose storage is gone."""
    _, former = await store.archives.urls()
    if url not in former:
        known = f"the former archives are {', '.join(former)}" if former else "there is none"
        raise InvalidInput(f"archive: {url} is no former one; {known}", field="archive")
    await store.archives.forget_former(url)
