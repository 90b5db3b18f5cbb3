"""`holdfast server` as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

START_TIMEOUT_S = 30
ROOT = Path(__file__).parents[2]


@contextlib.asynccontextmanager
async def server_process(
    store: str, folder: Path, *options: str, **environment: str
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Run a server while the block runs; yields its URL. Its log is in the folder."""
    with (folder / "server.log").open("a") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "holdfast.cli", "server", "--store", store, "--json"),
            *("--listen", "127.0.0.1:0", *options),
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(folder), **environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_TIMEOUT_S):
            line = await process.stdout.readline()
        assert line, (folder / "server.log").read_text()
        yield json.loads(line)["url"], process
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(START_TIMEOUT_S):
            await process.wait()
