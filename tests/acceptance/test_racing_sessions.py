"""Messages race to two servers and two workers of one store, and a server is killed meanwhile.

`HOLDFAST_SESSIONS=1000` runs as many sessions in place of 200.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from holdfast.engine import Engine, open_engine
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Entry
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server
from tests.support.commands import Talking
from tests.support.dump import dump_keys
from tests.support.http_servers import holdfast_process, server_process
from tests.support.invariants import violations

pytestmark = pytest.mark.timeout(240)

SESSIONS = int(os.environ.get("HOLDFAST_SESSIONS", "200"))
MESSAGES = 5
#: These are sent twice.
REPEATED = (0, 3)
#: Sessions that talk at the same time.
AT_ONCE = 50
#: Sessions of the test that kills a server, and the answers after which it does.
CUSTOMERS, ANSWERS = 20, 30

#: Two turns at the same time would read the same number; every second message ends an execution.
BOT = '''
from holdfast import App, Chat

app = App()


@app.conversation
async def count(chat: Chat) -> None:
    """Number the messages of a session."""
    for _ in range(2):
        message = await chat.receive()
        number = await chat.state.get("number", 0) + 1
        await chat.state.set("number", number)
        await chat.say(f"{number}: {message.text}")
'''

#: The replies to a user's messages, by the number of the message.
Answers = dict[int, list[str]]


@dataclass
class Site:
    """Servers and two workers on one store."""

    url: str
    servers: list[str]
    processes: list[Talking]
    workers: list[Talking]
    http: aiohttp.ClientSession

    async def send(self, server: str, user: str, number: int) -> list[str]:
        """Send a message of a user, and return the replies of its turn."""
        answer = await self._post(server, "activities", user, number, wait_ms=60_000)
        return [reply["text"] for reply in answer["replies"]]

    async def is_known(self, server: str, user: str, number: int) -> bool:
        """Deliver a message, and return whether it was delivered before."""
        return bool((await self._post(server, "deliver", user, number))["duplicate"])

    async def _post(self, server: str, call: str, user: str, number: int, **fields: int) -> Any:
        activity = {
            "id": f"m{number}",
            "conversation": "main",
            "user": user,
            "payload": {"text": f"message {number}"},
        }
        url = f"{server}/v1/conversations/count/{call}"
        async with self.http.post(url, json={"activity": activity, **fields}) as got:
            answer = await got.json()
            assert got.status == 200, answer
            return answer


@pytest.fixture
def store() -> Iterator[TestServer]:
    """A store of its own."""
    with start_server() as server:
        yield server


@contextlib.asynccontextmanager
async def site(folder: Path, store: TestServer, servers: int = 2) -> AsyncIterator[Site]:
    """Start everything; two workers first, so that the conversation is known."""
    (folder / "bot.py").write_text(BOT)
    url = f"valkey://127.0.0.1:{store.port}"
    async with contextlib.AsyncExitStack() as stack:
        workers = []
        for name in ("one", "two"):
            args = ("worker", "bot:app", "--name", name, "--store", url)
            _, worker = await stack.enter_async_context(holdfast_process(folder, folder, *args))
            workers.append(worker)
        serving = [server_process(url, folder) for _ in range(servers)]
        found = [await stack.enter_async_context(server) for server in serving]
        connector = aiohttp.TCPConnector(limit=0)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        urls, processes = [url for url, _ in found], [process for _, process in found]
        yield Site(url, urls, processes, workers, http)


def _check(session_id: str, entries: Sequence[Entry], answers: Answers) -> None:
    """Check that each message is answered once, in order, also to who sent it."""
    messages = [entry for entry in entries if entry.direction == "in"]
    replies = [entry for entry in entries if entry.direction == "out"]
    assert sorted(entry.text for entry in messages) == [f"message {n}" for n in sorted(answers)]
    assert [(reply.turn, reply.text) for reply in replies] == [
        (message.number, f"{number}: {message.text}") for number, message in enumerate(messages, 1)
    ]
    assert [reply.execution for reply in replies] == [
        f"{session_id}~{1 + n // 2}" for n in range(len(messages))
    ]
    by_turn = {reply.turn: reply.text for reply in replies}
    for message in messages:
        number = int(message.text.removeprefix("message "))
        assert answers[number] == [by_turn[message.number]]


async def _check_all(place: Site, talks: dict[str, Answers]) -> None:
    async with open_engine(place.url, maintenance=False) as engine:
        for user, answers in talks.items():
            page = await engine.sessions.transcript(_key(user).id, limit=1_000)
            _check(page.session.id, page.entries, answers)


def _key(user: str) -> SessionKey:
    return SessionKey(conversation="main", user=user, endpoint="count")


async def _race(place: Site, user: str, servers: Iterator[str]) -> Answers:
    """Send all messages at once, some of them to both servers."""
    numbers = [*range(MESSAGES), *REPEATED]
    sending = (place.send(server, user, n) for n, server in zip(numbers, servers, strict=False))
    found = await asyncio.gather(*sending)
    answers = dict(zip(numbers, found, strict=True))
    assert [answers[number] for number in numbers] == found
    return answers


async def test_racing_messages_are_answered_once_and_in_order(
    tmp_path: Path, store: TestServer
) -> None:
    """No turn runs beside another of its session, whichever server and worker get a message."""
    async with site(tmp_path, store) as place:
        free = asyncio.Semaphore(AT_ONCE)
        talks: dict[str, Answers] = {}

        async def converse(number: int) -> None:
            servers = islice(cycle(place.servers), number, None)
            async with free:
                talks[f"user-{number}"] = await _race(place, f"user-{number}", servers)

        started = time.monotonic()
        await asyncio.gather(*map(converse, range(SESSIONS)))
        seconds = time.monotonic() - started
        print(f"{SESSIONS} sessions, {SESSIONS * MESSAGES} turns: {seconds:.1f} s")  # noqa: T201
        await _check_all(place, talks)
    partitions = {key: value for key, value in dump_keys([store], "hf").items() if "{g}" not in key}
    assert violations(partitions) == []


class Customers:
    """Users who repeat a message at another server when theirs is gone."""

    def __init__(self, place: Site) -> None:
        self._place = place
        self.talks: dict[str, Answers] = {f"user-{n}": {} for n in range(CUSTOMERS)}
        #: Of each message whose answer was lost, whether it had been delivered.
        self.known: list[bool] = []

    async def talk(self, numbers: Iterable[int], server: int, kill_after: int | None) -> None:
        """Send messages to a server, and kill it after some answers."""

        async def converse(user: str) -> None:
            for number in numbers:
                self.talks[user][number] = await self._send(server, user, number)
                if self._answers == kill_after:
                    self._place.processes[server].kill()

        await asyncio.gather(*map(converse, self.talks))

    async def _send(self, server: int, user: str, number: int) -> list[str]:
        first, second = self._place.servers[server : server + 2]
        try:
            return await self._place.send(first, user, number)
        except aiohttp.ClientConnectorError:
            pass  # it was gone before
        except aiohttp.ClientError:
            self.known.append(await self._place.is_known(second, user, number))
        return await self._place.send(second, user, number)

    @property
    def _answers(self) -> int:
        return sum(map(len, self.talks.values()))

    async def delivered(self, engine: Engine, last: int) -> None:
        """Wait until every session has so many lines."""

        async def are_there() -> bool:
            found = [await engine.sessions.get(_key(user).id) for user in self.talks]
            return all(session.last == last for session in found)

        await wait_for(are_there, timeout_s=30)


@contextlib.contextmanager
def frozen(processes: Iterable[Talking]) -> Iterator[None]:
    """Stop processes while the block runs."""
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


async def test_a_killed_server_neither_loses_nor_doubles_a_message(
    tmp_path: Path, store: TestServer
) -> None:
    """The caller does not know whether it was delivered, and repeats it at another server."""
    async with site(tmp_path, store, servers=3) as place:
        customers = Customers(place)
        await customers.talk(range(MESSAGES), 0, kill_after=ANSWERS)
        assert customers.known
        customers.known.clear()
        with frozen(place.workers):
            talking = asyncio.ensure_future(customers.talk([MESSAGES], 1, kill_after=None))
            async with open_engine(place.url, maintenance=False) as engine:
                await customers.delivered(engine, 2 * MESSAGES + 1)
            place.processes[1].kill()
        await talking
        assert customers.known == [True] * CUSTOMERS
        await _check_all(place, customers.talks)
