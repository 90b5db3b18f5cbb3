"""Worker processes of the support bot die at every line; its users notice nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from holdfast.engine import Engine, open_engine
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, Entry
from holdfast.model.waitpoints import NewSignal, WaitpointState
from tests.acceptance.processes import ROOT, environment
from tests.support import commands

pytestmark = pytest.mark.timeout(240)

SCRIPT = (
    "hello",
    "a refund",
    "seventeen",
    "17",
    "/approve",
    "yes",
    "refund",
    "18",
    "/deny",
    "yes",
    "person",
    "are you there?",
    "/back",
    "1",
    "99",
    "status",
    "18",
    "no",
)
#: More at once would die so often that the store lets them wait for long.
AT_ONCE = 4


def _key(user: str) -> SessionKey:
    return SessionKey(conversation="main", user=user, endpoint="support")


class Customer:
    """A user who follows the script."""

    def __init__(self, engine: Engine, user: str) -> None:
        self._engine = engine
        self._key = _key(user)

    async def talk(self) -> list[tuple[str, str, int | None]]:
        """Say everything, and return the transcript."""
        for number, line in enumerate(SCRIPT):
            await self._act(number, line)
        page = await self._engine.sessions.transcript(self._key.id, limit=1_000)
        return [(entry.direction, _shown(entry), entry.turn) for entry in page.entries]

    async def _act(self, number: int, line: str) -> None:
        if line in ("/approve", "/deny"):
            await self._decide(line[1:])
        elif line == "/back":
            await self._engine.sessions.handover(self._key.id, None)
            await self._settled()
        else:
            payload = msgspec.json.encode({"text": line})
            activity = Activity(key=self._key, payload=payload, id=f"m{number}")
            answer = await self._engine.sessions.send("support", activity, wait_ms=60_000)
            assert answer.done, (self._key.user, line, answer)

    async def _decide(self, signal: str) -> None:
        session = await self._engine.sessions.get(self._key.id)
        assert session.execution is not None
        for point in await self._engine.waitpoints.of(session.execution):
            if point.state is WaitpointState.OPEN:
                item = NewSignal(waitpoint=point.id, name=signal)
                waitpoints = self._engine.waitpoints
                token = await waitpoints.token(point.id, reader="test", person="lead")
                await waitpoints.signal(item, token.reveal())
        await self._settled()

    async def _settled(self) -> None:
        """Wait until the conversation waits for a message."""
        async with asyncio.timeout(60):
            async for news in self._engine.sessions.follow(self._key.id):
                if news.session.state == "waiting":
                    return


def _shown(entry: Entry) -> str:
    return msgspec.json.encode(entry.value).decode()


@contextlib.asynccontextmanager
async def working(folder: Path) -> AsyncIterator[None]:
    """Keep a worker running: one that died is followed by another."""
    started = asyncio.Event()
    running = asyncio.ensure_future(_keep_working(folder, started))
    started_or_failed = asyncio.ensure_future(started.wait())
    await asyncio.wait({running, started_or_failed}, return_when=asyncio.FIRST_COMPLETED)
    started_or_failed.cancel()
    if running.done():
        running.result()
    try:
        yield
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def _keep_working(folder: Path, started: asyncio.Event) -> None:
    while True:
        with (folder / "worker.log").open("a") as log:
            process = await commands.talk(
                [str(folder)],
                module="tests.acceptance.apps.support_worker",
                folder=ROOT,
                environment=environment(folder)
                | {"HOLDFAST_STORE": f"embedded://{folder / 'store'}"},
                stderr=log,
            )
        try:
            line = await process.stdout.readline()
            assert line == b"ready\n", (folder / "worker.log").read_text()
            started.set()
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def test_a_worker_killed_at_any_line_changes_nothing_that_is_said(tmp_path: Path) -> None:
    """For each line of the bot, a worker dies there; the transcript is that of a calm run."""
    async with open_engine(f"embedded://{tmp_path / 'store'}") as engine, working(tmp_path):
        wanted = await Customer(engine, "calm").talk()
        lines = sorted({int(line) for line in (tmp_path / "lines").read_text().split()})
        assert len(lines) > 20
        free = asyncio.Semaphore(AT_ONCE)

        async def compare(line: int) -> None:
            async with free:
                said = await Customer(engine, f"line-{line}").talk()
            assert said == wanted, f"killed at line {line}"

        await asyncio.gather(*map(compare, lines))
        assert sorted(_deaths(tmp_path)) == lines


def _deaths(folder: Path) -> list[int]:
    """Return the lines at which a worker died."""
    return [int(path.name.removeprefix("died-")) for path in folder.glob("died-*")]
