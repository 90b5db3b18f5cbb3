"""Overdue drains under load: processes are killed, messages arrive at the same moment."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import final

import pytest
from typing_extensions import override

from holdfast.engine import Engine, open_engine
from holdfast.errors import RevisionDraining
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import RESTART_TEXT
from holdfast.model.revisions import Lifecycle
from holdfast.testing.servers import start_server
from tests.acceptance.test_releases import REF, WAIT_MS, Apps, Packs, Place, User
from tests.support.hosting import reached, shift, shop, stage

pytestmark = pytest.mark.timeout(120)

#: Conversations that wait on the old revision when its time is over.
PARKED = 16
SAME_REST = """\
id: main
nodes:
  hello: {{emit: {{text: "{word}: name?"}}, out: name}}
  name: {{wait: {{}}, out: bye}}
  bye: {{emit: {{text: "bye {{{{ input.text }}}}"}}, out: end}}
"""


@contextlib.asynccontextmanager
async def _released(kind: type[Place], folder: Path) -> AsyncIterator[tuple[Place, list[str]]]:
    """Users who wait on revision a while new sessions go to b."""
    with start_server() as server:
        url = f"valkey://127.0.0.1:{server.port}"
        async with open_engine(url) as engine:
            place = kind(engine, folder, url)
            await place.release("a")
            await reached(engine, "a", Lifecycle.READY, REF)
            await shift(engine, "a", REF)
            names = [f"u{number}" for number in range(PARKED)]
            for said in await asyncio.gather(*(User(engine, name).say("hi") for name in names)):
                assert said == "A: name?"
            await place.release("b")
            await reached(engine, "b", Lifecycle.READY, REF)
            await shift(engine, "b", REF)
            try:
                yield place, names
            finally:
                place.kill_all()


async def _answer(engine: Engine, user: str) -> None:
    """Send a message at the moment of the forced end."""
    activity = NewActivity(conversation="c", user=user, payload=b'{"text":"me"}')
    while True:
        try:
            answer = await engine.activities.handle(activity, wait_ms=WAIT_MS)
        except RevisionDraining:
            # Two of them in a row; the sender tries again, under the same id.
            continue
        assert answer.done
        return


async def _check(engine: Engine, user: str, *, spoke: bool) -> str:
    """Every message has one answer; returns what came of the conversation."""
    session = NewActivity(conversation="c", user=user, payload=b"{}").to("shop").key.id
    entries = (await engine.sessions.transcript(session)).entries
    messages = [entry for entry in entries if entry.direction == "in"]
    replies = [entry for entry in entries if entry.direction == "out"]
    assert len(messages) == (2 if spoke else 1)
    restarts = [reply for reply in replies if reply.text == RESTART_TEXT]
    answers = [reply for reply in replies if reply.text != RESTART_TEXT]
    assert len(restarts) <= 1
    for message in messages:
        own = [reply for reply in answers if reply.turn == message.number]
        said_sorry = any(reply.turn == message.number for reply in restarts)
        assert len(own) == 1 or (not own and said_sorry), entries
    assert answers[0].text == "A: name?"
    return "restarted" if restarts else answers[-1].text


@final
class SamePacks(Place):
    """A host of a pack whose revisions differ only in what lies behind those who wait."""

    @override
    async def release(self, revision: str) -> None:
        if "host" not in self._running:
            self.start("host", "host")
        await stage(self.engine, revision, shop(revision.upper(), flow=SAME_REST), REF)

    @override
    async def crash(self, revision: str) -> None:
        self.kill("host")
        self.start("host", "host")


async def test_conversations_that_fit_continue_although_the_host_dies(tmp_path: Path) -> None:
    """Nobody reads of it, and each message is answered once."""
    async with _released(SamePacks, tmp_path) as (place, names):
        engine = place.engine
        speaking = [asyncio.ensure_future(_answer(engine, name)) for name in names[::2]]
        await engine.deployments.drain(REF, "a", deadline_ms=0)
        await place.crash("a")
        await asyncio.gather(*speaking)
        await reached(engine, "a", Lifecycle.INACTIVE, REF)
        for name in names[1::2]:
            await _answer(engine, name)
        assert {await _check(engine, name, spoke=True) for name in names} == {"bye me"}


@pytest.mark.parametrize("kind", [Packs, Apps])
async def test_an_overdue_drain_ends_and_loses_nothing(kind: type[Place], tmp_path: Path) -> None:
    """Whoever waits reads that they start again; a message that came first is answered."""
    async with _released(kind, tmp_path) as (place, names):
        engine = place.engine
        # Half of them answer while the drain is overdue from the start, and the host dies.
        speaking = [asyncio.ensure_future(_answer(engine, name)) for name in names[::2]]
        await engine.deployments.drain(REF, "a", deadline_ms=0)
        await place.crash("a")
        await asyncio.gather(*speaking)
        await reached(engine, "a", Lifecycle.INACTIVE, REF)
        assert not (await engine.deployments.needs(REF, "a")).items
        ends = {name: await _check(engine, name, spoke=name in names[::2]) for name in names}
        assert {ends[name] for name in names[1::2]} == {"restarted"}
        assert {ends[name] for name in names[::2]} <= {"restarted", "A: bye me", "B: name?"}
        assert await User(engine, names[1]).say("hi") == "B: name?"
