"""Sessions: every message is heard once and in order, and every reply is written once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, Entry
from holdfast.testing.polling import wait_for
from tests.chaos.seeded.history import happened
from tests.chaos.seeded.workload.workload import UNENDED, Dump, Workload, encode


async def sessions_of(engine: Engine, endpoint: str) -> list[str]:
    """Return the sessions at an endpoint."""
    page = await engine.sessions.list(limit=100)
    return [session.id for session in page.items if session.key.endpoint == endpoint]


async def transcripts(engine: Engine, endpoint: str) -> dict[str, list[Entry]]:
    """Return the transcripts of all sessions at an endpoint, by user."""
    found = {}
    for session in await sessions_of(engine, endpoint):
        transcript = await engine.sessions.transcript(session, limit=1000)
        found[transcript.session.key.user] = list(transcript.entries)
    return found


async def answered(engine: Engine, endpoint: str) -> list[str]:
    """Wait until every message at an endpoint has its answer; returns the sessions."""
    sessions = await sessions_of(engine, endpoint)
    for session in sessions:

        async def is_answered(session: str = session) -> bool:
            transcript = await engine.sessions.transcript(session, limit=1000)
            turns = {one.turn for one in transcript.entries if one.direction == "out"}
            heard = {one.number for one in transcript.entries if one.direction == "in"}
            return heard <= turns

        await wait_for(is_answered, timeout_s=200)
    return sessions


class Sessions(Workload):
    """Users of a conversation, each with messages one after the other."""

    #: The conversation, which is also where messages arrive.
    name = "echo"
    #: Who delivers the replies.
    sender: str | None = None

    @override
    async def act(self, engine: Engine, client: str) -> None:
        user = f"{client}-{self.random.randint(0, 1)}"
        text = self.new_key(client) + self.random.choice(["", "", "", " bye"])
        key = SessionKey(conversation=user, user=user, endpoint=self.name)
        activity = Activity(key=key, payload=encode({"text": text}), id=text)
        for _ in range(self.random.choice([1, 1, 2])):
            work = engine.sessions.deliver(self.name, activity, sender=self.sender)
            await self.history.call(client, self.title(), text, work, user=user)

    @override
    async def finish(self, engine: NearEngine) -> None:
        """Wait until all is answered, then end what waits for more."""
        for session in await answered(engine, self.name):
            await engine.sessions.end(session)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        lines = await transcripts(engine, self.name)
        for user, entries in lines.items():
            for text in _judge(entries):
                yield f"user {user}: {text}"
        every = {entry.text for entries in lines.values() for entry in entries}
        for text, calls in self.history.by_key(self.title()).items():
            if happened(calls) is True and text not in every:
                yield f"the message {text} was acknowledged and is lost"
            if happened(calls) is False and text in every:
                yield f"the message {text} was refused and is there"


def _judge(entries: Sequence[Entry]) -> list[str]:
    problems = []
    heard = [entry.text for entry in entries if entry.direction == "in"]
    said = [entry.text for entry in entries if entry.direction == "out"]
    if len(set(heard)) < len(heard):
        problems.append(f"a message was delivered twice: {heard}")
    due = [f"re {text}" for text in heard]
    if said != due and said == due[: len(said)]:
        problems.append(f"the conversation {UNENDED}: heard {heard}, said {said}")
    elif said != due:
        problems.append(f"heard {heard}, said {said}")
    return problems
