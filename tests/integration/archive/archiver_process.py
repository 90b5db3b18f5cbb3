"""An archiver in a process of its own, which dies or stops at a named point of its work.

python -m tests.integration.archive.archiver_process URL FOLDER SIGNAL POINT HOW_OFTEN
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable

from holdfast.archive import Archiver, ArchiverSettings
from holdfast.errors import HoldfastError
from holdfast.fencing import FolderObjects, ObjectStore
from holdfast.fencing.in_store import StoreObjects
from holdfast.store.archives import Archives
from holdfast.store.store import open_store

#: Short, so that tests do not wait long for the next one to take over.
SETTINGS = ArchiverSettings(segment_rows=5, ttl_ms=1_000)


async def main(url: str, folder: str, name: str, point: str, often: int) -> None:
    """Archive what waits, until the point is reached for the so-manieth time."""
    left = often

    async def at(here: str) -> None:
        nonlocal left
        left -= here == point
        if here == point and left == 0:
            os.kill(os.getpid(), getattr(signal, name))

    class HalfForgetting(Archives):
        async def forget(self, ended: Iterable[tuple[str, int, int]]) -> int:
            known = list(ended)
            done = await super().forget(known[: len(known) // 2])
            await at("half forgotten")
            return done + await super().forget(known[len(known) // 2 :])

    async with open_store(url) as store:
        store.archives = HalfForgetting(store)
        objects: ObjectStore = FolderObjects(folder) if folder else StoreObjects(store)
        archiver = Archiver(store, objects, SETTINGS, at=at)
        try:
            report = await archiver.run_once(wait_s=30)
        except HoldfastError as error:
            print(error.code, flush=True)
        else:
            print(report.archived, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])))
