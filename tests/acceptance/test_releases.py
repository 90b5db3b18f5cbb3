"""A release while users talk without a pause: hosts of packs, and workers of an app, are killed."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from pathlib import Path
from typing import final

import pytest
from typing_extensions import override

from holdfast.engine import Engine, open_engine
from holdfast.host.flows.declaring import APOLOGY
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import DeploymentRef, NewDeployment
from holdfast.model.revisions import Lifecycle
from holdfast.model.sessions import Entry, TurnAnswer
from holdfast.testing.servers import start_server
from tests.acceptance.processes import environment
from tests.support import commands
from tests.support.hosting import reached, shift, shop, stage

pytestmark = pytest.mark.timeout(120)

REF = DeploymentRef(env="local", id="shop", tenant="default")
TALKERS = 6
WAIT_MS = 60_000

APP = '''
from holdfast import App, Chat

app = App()


@app.conversation(name="talk")
async def talk(chat: Chat) -> None:
    """Ask for a name."""
    name = await chat.ask("{word}: name?")
    await chat.say(f"{word}: bye {{name.value}}")
'''


class Place(ABC):
    """Where revisions run: processes that can be killed."""

    def __init__(self, engine: Engine, folder: Path, url: str) -> None:
        self.engine = engine
        self.folder = folder
        self._url = url
        self._running: dict[str, commands.Command] = {}

    @abstractmethod
    async def release(self, revision: str) -> None:
        """Stage a revision, and let its processes load it."""

    @abstractmethod
    async def crash(self, revision: str) -> None:
        """Kill what runs a revision, and start it again."""

    def start(self, name: str, *args: str) -> None:
        """Start a process."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = commands.start(
                [*args, "--lease", "1s", "--store", self._url],
                folder=self.folder,
                environment=environment(self.folder),
                stdout=log,
                stderr=log,
            )

    def kill(self, name: str) -> None:
        """Kill a process."""
        self._running[name].send_signal(signal.SIGKILL)
        self._running[name].wait(10)

    def kill_all(self) -> None:
        """Kill everything, also what has just begun to start."""
        for name in self._running:
            self.kill(name)

    async def close(self) -> None:
        """Stop everything; each process drains and ends with 0."""
        for process in self._running.values():
            process.terminate()
        codes = [await asyncio.to_thread(one.wait, 20) for one in self._running.values()]
        assert set(codes) == {0}, {path: path.read_text() for path in self.folder.glob("*.log")}


@final
class Packs(Place):
    """One host for all revisions of a pack."""

    @override
    async def release(self, revision: str) -> None:
        if "host" not in self._running:
            self.start("host", "host")
        await stage(self.engine, revision, shop(revision.upper()), REF)

    @override
    async def crash(self, revision: str) -> None:
        self.kill("host")
        self.start("host", "host")


@final
class Apps(Place):
    """A worker for each version of an app."""

    @override
    async def release(self, revision: str) -> None:
        await self.release_code(revision, APP.format(word=revision.upper()))

    async def release_code(self, revision: str, code: str) -> None:
        """Release a version of the app."""
        (self.folder / f"talk_{revision}.py").write_text(code)
        new = NewDeployment(env="local", id="shop", tenant="default", app="talk")
        await self.engine.deployments.create(new)
        await self.engine.deployments.stage(REF, revision_id=revision)
        await self.engine.deployments.warm(REF, revision)
        self._serve(revision)

    @override
    async def crash(self, revision: str) -> None:
        self.kill(revision)
        self._serve(revision)

    def _serve(self, revision: str) -> None:
        self.start(revision, "worker", f"talk_{revision}:app", "--revision", revision)


class User:
    """Somebody who talks, and knows what the answers must be."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self.answers: list[TurnAnswer] = []
        #: Whether its conversation failed.
        self.disappointed = False

    async def say(self, text: str) -> str:
        """Say something, and return the only reply."""
        activity = NewActivity(
            conversation="c", user=self._name, payload=b'{"text":"%s"}' % text.encode()
        )
        answer = await self._engine.activities.handle(activity, wait_ms=WAIT_MS)
        self.answers.append(answer)
        assert answer.done
        (reply,) = answer.replies
        return reply.text

    async def talk(self) -> str:
        """Have a whole conversation, and return the word of the revision that had it."""
        question = await self.say("hi")
        if question == APOLOGY:
            self.disappointed = True
            return ""
        word = question.partition(":")[0]
        assert question == f"{word}: name?"
        assert await self.say(self._name) == f"{word}: bye {self._name}"
        return word

    async def talk_on(self, over: asyncio.Event) -> int:
        """Talk without a pause; returns how many conversations there were."""
        count = 0
        while not over.is_set():
            await self.talk()
            count += 1
        return count

    async def check_transcript(self) -> None:
        """Each message was answered once, by what was said in return."""
        lines: list[Entry] = []
        if self.answers:
            session = self.answers[0].session
            after = 0
            while True:
                page = await self._engine.sessions.transcript(session, after=after, limit=1_000)
                lines += page.entries
                if not page.more:
                    break
                after = lines[-1].number
        assert [line.direction for line in lines] == ["in", "out"] * len(self.answers)
        said = [line.text for line in lines if line.direction == "out"]
        assert said == [answer.replies[0].text for answer in self.answers]


@contextlib.asynccontextmanager
async def talking(engine: Engine) -> AsyncIterator[list[User]]:
    """Let users talk while the block runs; then check everything that they said and heard."""
    users = [User(engine, f"u{number}") for number in range(TALKERS)]
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        talks = [group.create_task(user.talk_on(over)) for user in users]
        try:
            yield users
        finally:
            over.set()
    assert all(talk.result() > 1 for talk in talks)
    for user in users:
        await user.check_transcript()


@pytest.mark.parametrize("kind", [Packs, Apps])
async def test_a_release_breaks_no_conversation(kind: type[Place], tmp_path: Path) -> None:
    """Not when the split moves or processes die, when the old revision drains, nor back again."""
    with start_server() as server:
        url = f"valkey://127.0.0.1:{server.port}"
        async with open_engine(url) as engine:
            place = kind(engine, tmp_path, url)
            await place.release("a")
            await reached(engine, "a", Lifecycle.READY, REF)
            await shift(engine, "a", REF)
            async with talking(engine):
                await _release(place)
            await place.close()


async def _release(place: Place) -> None:
    engine = place.engine
    ann = User(engine, "ann")
    assert await ann.say("hi") == "A: name?"
    await place.release("b")
    await reached(engine, "b", Lifecycle.READY, REF)
    await shift(engine, "b", REF)
    assert await User(engine, "ben").talk() == "B"
    await place.crash("a")
    assert await User(engine, "cyd").talk() == "B"
    draining = await engine.deployments.drain(REF, "a")
    assert (draining.lifecycle, draining.waiting >= 1) == (Lifecycle.DRAINING, True)
    assert await ann.say("Ann") == "A: bye Ann"
    await reached(engine, "a", Lifecycle.INACTIVE, REF)
    assert await ann.talk() == "B"
    # Back to the first: it is loaded again.
    await engine.deployments.warm(REF, "a")
    await reached(engine, "a", Lifecycle.READY, REF)
    await engine.deployments.rollback(REF)
    assert await User(engine, "dan").talk() == "A"
    await place.crash("b")
    tried = NewActivity(conversation="c", user="eve", payload=b"{}")
    answer = await engine.activities.handle_for_revision(tried, "b", wait_ms=WAIT_MS)
    assert [reply.text for reply in answer.replies] == ["B: name?"]
    await ann.check_transcript()
