"""One writer at a time over object storage, and a paused writer that comes too late.

python examples/fenced_report.py
"""

import asyncio
import tempfile

from holdfast.errors import LeaseLost
from holdfast.fencing import FencedManifest, WriterLease, open_objects

KEY = "reports/main"


async def main() -> None:
    """Write with a first lease; a second writer takes over; the first one can change nothing."""
    with tempfile.TemporaryDirectory() as folder:
        objects = await open_objects(f"file://{folder}")
        manifest = FencedManifest(objects, KEY)
        async with WriterLease(objects, KEY) as first:
            paused = await manifest.open(first)
            name = await paused.put(b"10 rows")
            await paused.commit(add={name: {"rows": 10}}, facts={"by": "first"})
        async with WriterLease(objects, KEY) as second:
            writer = await manifest.open(second)
            await writer.commit(add={}, facts={"by": "second"})
            try:
                await paused.commit(add={}, facts={"by": "first, too late"})
            except LeaseLost:
                print("the first writer is fenced off")
        if snapshot := await manifest.read():
            print("written by:", snapshot.facts["by"])


if __name__ == "__main__":
    asyncio.run(main())
