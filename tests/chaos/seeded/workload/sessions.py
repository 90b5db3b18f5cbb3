"""Sessions: every message is heard once and in order, and every reply is written once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.errors import HoldfastError
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity
from holdfast.testing.polling import wait_for
from tests.chaos.seeded.history import happened
from tests.chaos.seeded.workload.workload import Dump, Workload, encode

_NAME = "echo"


class Sessions(Workload):
    """Users of a conversation, each with messages one after the other."""

    @override
    async def act(self, engine: Engine, client: str) -> None:
        user = f"{client}-{self.random.randint(0, 1)}"
        text = self.new_key(client) + self.random.choice(["", "", "", " bye"])
        key = SessionKey(conversation=user, user=user, endpoint=_NAME)
        activity = Activity(key=key, payload=encode({"text": text}), id=text)
        for _ in range(self.random.choice([1, 1, 2])):
            work = engine.sessions.deliver(_NAME, activity)
            await self.history.call(client, "deliver", text, work, user=user)

    @override
    async def finish(self, engine: NearEngine) -> None:
        """Wait until all is answered, then end what waits for more."""
        for session in await self._sessions(engine):

            async def answered(session: str = session) -> bool:
                transcript = await engine.sessions.transcript(session, limit=1000)
                sides = [str(entry.direction) for entry in transcript.entries]
                return sides.count("in") == sides.count("out")

            await wait_for(answered, timeout_s=200)
            await engine.sessions.end(session)

    async def _sessions(self, engine: Engine) -> list[str]:
        page = await engine.sessions.list(limit=100)
        return [session.id for session in page.items]

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        lines: dict[str, list[Any]] = {}
        try:
            for session in await self._sessions(engine):
                transcript = await engine.sessions.transcript(session, limit=1000)
                lines[transcript.session.key.user] = list(transcript.entries)
        except HoldfastError as error:
            yield f"sessions cannot be read: {error}"
        delivered = self.history.by_key("deliver")
        for user, entries in lines.items():
            heard = [entry.text for entry in entries if str(entry.direction) == "in"]
            said = [entry.text for entry in entries if str(entry.direction) == "out"]
            if len(set(heard)) < len(heard):
                yield f"user {user}: a message was delivered twice: {heard}"
            if sorted(said) != sorted(f"re {text}" for text in heard):
                yield f"user {user}: heard {heard}, said {said}"
            if [text.removeprefix("re ") for text in said] != heard:
                yield f"user {user}: replies are out of order: {heard}, {said}"
        every = {text for entries in lines.values() for text in (e.text for e in entries)}
        for text, calls in delivered.items():
            if happened(calls) is True and text not in every:
                yield f"the message {text} was acknowledged and is lost"
            if happened(calls) is False and text in every:
                yield f"the message {text} was refused and is there"
