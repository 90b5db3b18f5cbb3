"""A process that uses an embedded store: says `ready`, submits on request, leaves at the end."""

from __future__ import annotations

import asyncio
import sys

from holdfast.engine import open_engine


async def use(folder: str) -> None:
    """Serve lines of standard input: each is the kind of an execution to submit."""
    loop = asyncio.get_running_loop()
    async with open_engine(f"embedded://{folder}") as engine:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            made = await engine.submit(line.strip())
            sys.stdout.write(f"{made.id}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(use(sys.argv[1]))
