"""Archiving beside other work: while the store names an archive, archive or stand by."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from holdfast.archive.archiver import Archiver, ArchiverSettings
from holdfast.errors import HoldfastError
from holdfast.fencing import places
from holdfast.store.outages import level
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: How soon a change of the setting is noticed, and how long to rest after trouble.
LOOK_S = 30.0


async def keep_archiving(
    store: Store, settings: ArchiverSettings | None = None, *, look_s: float = LOOK_S
) -> None:
    """Archive for as long as an archive is set, until cancelled. Others may do the same."""
    known: str | None = None
    running: asyncio.Task[None] | None = None
    try:
        while True:
            with contextlib.suppress(HoldfastError):
                url = await store.archives.url()
                if url != known or (running is not None and running.done()):
                    await _stop(running)
                    known = url
                    running = (
                        None if url is None else asyncio.create_task(_archive(store, url, settings))
                    )
            await asyncio.sleep(look_s)
    finally:
        await _stop(running)


async def _archive(store: Store, url: str, settings: ArchiverSettings | None) -> None:
    try:
        await Archiver(store, places.parse(url), settings).run()
    except HoldfastError as error:
        log.log(level(error), "archiving stopped and is tried again: %s", error)


async def _stop(running: asyncio.Task[None] | None) -> None:
    """Stop archiving; the writer lease is given up, so that the next one need not wait."""
    if running is not None:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
