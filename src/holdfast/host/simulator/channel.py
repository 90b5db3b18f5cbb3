"""Asks for fakes from another process: a test plays here, and its flows run in a worker there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from holdfast.host.simulator.fakes import Answer, Ask, Call

_CALL = msgspec.json.Decoder(Call)
_ANSWER = msgspec.json.Decoder(Answer | None)
#: A line holds an output of a node, which has up to 256 KiB, and some words.
_LINE_BYTES = 1_048_576


@contextlib.asynccontextmanager
async def answering(path: Path, ask: Ask) -> AsyncIterator[None]:
    """Answer calls at a socket while the block runs."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            call = _CALL.decode(await reader.readline())
            writer.write(msgspec.json.encode(await ask(call)) + b"\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(answer, path, limit=_LINE_BYTES)
    async with server:
        yield


def asking(path: Path) -> Ask:
    """Return what asks at a socket."""

    async def ask(call: Call) -> Answer | None:
        reader, writer = await asyncio.open_unix_connection(path, limit=_LINE_BYTES)
        try:
            writer.write(msgspec.json.encode(call) + b"\n")
            await writer.drain()
            answer: Answer | None = _ANSWER.decode(await reader.readline())
            return answer
        finally:
            writer.close()

    return ask
