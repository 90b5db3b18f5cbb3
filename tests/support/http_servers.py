"""`holdfast server` as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.support import commands
from tests.support.commands import Talking

START_TIMEOUT_S = 30
ROOT = Path(__file__).parents[2]


@contextlib.asynccontextmanager
async def server_process(
    store: str, folder: Path, *options: str, **environment: str
) -> AsyncIterator[tuple[str, Talking]]:
    """Run a server while the block runs; yields its URL. Its log is in the folder."""
    args = ("server", "--store", store, "--listen", "127.0.0.1:0", *options)
    async with holdfast_process(folder, ROOT, *args, **environment) as (started, process):
        yield started["url"], process


@contextlib.asynccontextmanager
async def holdfast_process(
    folder: Path, cwd: Path, command: str, *options: str, **environment: str
) -> AsyncIterator[tuple[dict[str, Any], Talking]]:
    """Run a command that serves while the block runs; yields what it says when it has started.

    Its log is in the folder, named after the command.
    """
    log_file = folder / f"{command}.log"
    with log_file.open("a") as log:
        process = await commands.talk(
            (command, *options, "--json"),
            folder=cwd,
            environment={**os.environ, "TMPDIR": str(folder), **environment},
            stderr=log,
        )
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            line = await process.stdout.readline()
        assert line, log_file.read_text()
        yield json.loads(line), process
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(START_TIMEOUT_S):
            await process.wait()
