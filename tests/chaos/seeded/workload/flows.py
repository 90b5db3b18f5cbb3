"""Flows of a pack on hosts: every message has one answer, and revisions change between them.

A conversation has two messages, and both are answered by the revision that it began on, whatever
is routed, drained or killed meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.host.flows.declaring import APOLOGY
from holdfast.host.host import Host
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import Deployment
from holdfast.model.revisions import Lifecycle
from holdfast.model.sessions import Entry
from tests.chaos.seeded.history import Call, happened
from tests.chaos.seeded.workload.sessions import answered, transcripts
from tests.chaos.seeded.workload.workload import UNENDED, Dump, Workload, encode
from tests.support import deployments, hosting

#: Ids of revisions are those of the whole store: other workloads have others.
REVISIONS = ("red", "gold", "teal")
_WAITS_MS = (0, 0, 0, 400)
#: A revision in one of these states can be warmed up.
_COLD = (Lifecycle.STAGED, Lifecycle.INACTIVE, Lifecycle.FAILED)
FLOW = """\
id: main
nodes:
  hello: {{emit: {{text: "{word}: hello {{{{ input.text }}}}"}}, out: more}}
  more: {{wait: {{}}, out: bye}}
  bye: {{emit: {{text: "{word}: bye {{{{ input.text }}}}"}}, out: end}}
"""


class Flows(Workload):
    """Users of a pack, and operators that route, drain and warm up its revisions."""

    needs_hosts = True

    @override
    async def prepare(self, engine: NearEngine) -> None:
        for name in REVISIONS:
            await hosting.stage(engine, name, hosting.shop(name, flow=FLOW))
        async with Host(engine).running():
            ready = (hosting.reached(engine, name, Lifecycle.READY) for name in REVISIONS)
            await asyncio.gather(*ready)
        await hosting.shift(engine, REVISIONS[0])

    @override
    async def act(self, engine: Engine, client: str) -> None:
        if self.random.random() < 0.2:
            await self._operate(engine, client)
        else:
            await self._say(engine, client)

    async def _say(self, engine: Engine, client: str) -> None:
        user = f"{client}-{self.random.randint(0, 1)}"
        text = self.new_key(client)
        activity = NewActivity(
            conversation=user, user=user, payload=encode({"text": text}), id=text
        )
        for _ in range(self.random.choice([1, 1, 2])):
            wait_ms = self.random.choice(_WAITS_MS)
            work = engine.activities.handle(activity, deployment=hosting.SHOP.id, wait_ms=wait_ms)
            await self.history.call(client, "handle", text, work, user=user)

    async def _operate(self, engine: Engine, client: str) -> None:
        key = self.new_key(client)
        reading = engine.deployments.get(hosting.SHOP)
        read = await self.history.call(client, "deployment", key, reading)
        if read is None:
            return
        chance = self.random.random()
        cold = [one.id for one in read.revisions if one.lifecycle in _COLD]
        if cold and chance < 0.4:
            name = self.random.choice(cold)
            work: Any = engine.deployments.warm(hosting.SHOP, name)
            await self.history.call(client, "warm", name, work)
        elif chance < 0.6 and (unused := _unused(read)):
            name = self.random.choice(unused)
            await self.history.call(
                client, "drain", name, engine.deployments.drain(hosting.SHOP, name)
            )
        else:
            await self._split(engine, client, read)

    async def _split(self, engine: Engine, client: str, read: Deployment) -> None:
        ready = [one.id for one in read.revisions if one.lifecycle is Lifecycle.READY]
        one, two = self.random.choice(ready), self.random.choice(ready)
        share = self.random.choice([0, 2_000, 5_000])
        weights = {one: 10_000} if one == two else {one: 10_000 - share, two: share}
        work = engine.deployments.set_split(
            hosting.SHOP,
            deployments.entries(**weights),
            expected_generation=read.split.generation,
        )
        await self.history.call(client, "route", str(weights), work)

    @override
    async def finish(self, engine: NearEngine) -> None:
        """Wait until all is answered, then end what waits for more."""
        for session in await answered(engine, hosting.SHOP.id):
            await engine.sessions.end(session)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        lines = await transcripts(engine, hosting.SHOP.id)
        for user, entries in lines.items():
            for text in judge(entries):
                yield f"user {user}: {text}"
        replies = {text: said for own in lines.values() for text, said in _replies(own).items()}
        for text in judge_answers(self.history.by_key("handle"), replies):
            yield text


def _unused(read: Deployment) -> list[str]:
    """Return the revisions that are ready and get no new sessions."""
    routed = {entry.revision for entry in read.split.entries if entry.weight_bps}
    ready = (one.id for one in read.revisions if one.lifecycle is Lifecycle.READY)
    return [name for name in ready if name not in routed]


def _replies(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Return what was said to each message."""
    texts = {one.number: one.text for one in entries if one.direction == "in"}
    said: dict[str, list[str]] = {text: [] for text in texts.values()}
    for one in entries:
        if one.direction == "out":
            said.setdefault(texts.get(one.turn or 0, f"turn {one.turn}"), []).append(one.text)
    return said


def judge(entries: Sequence[Entry]) -> Iterator[str]:
    """Judge the transcript of a session.

    One answer to each message, in the order of messages, by one revision in each conversation. A
    conversation whose host could not reach the store for longer than its calls wait ends with an
    apology.
    """
    outs = [one for one in entries if one.direction == "out"]
    turns = [one.turn or 0 for one in outs]
    if turns != sorted(turns):
        yield f"turns ran side by side: {turns}"
    heard = [one.text for one in entries if one.direction == "in"]
    if len(set(heard)) < len(heard):
        yield f"a message was delivered twice: {heard}"
    word = ""
    for text, said in _replies(entries).items():
        is_over = said[-1:] == [APOLOGY]
        own = said[:-1] if is_over else said
        hellos = [f"{one}: hello {text}" for one in REVISIONS]
        wanted = [f"{word}: bye {text}"] if word else hellos
        if not said:
            yield f"the turn of {text} {UNENDED}"
        elif len(own) > 1 or (own and own[0] not in wanted):
            yield f"{text} was answered {said}, should be one of {wanted}"
        word = "" if word or is_over or not own else own[0].partition(":")[0]


def judge_answers(calls: dict[str, list[Call]], replies: dict[str, list[str]]) -> Iterable[str]:
    """Judge what callers were answered, by what transcripts say."""
    for text, own in calls.items():
        if happened(own) is True and text not in replies:
            yield f"the message {text} was acknowledged and is lost"
        if happened(own) is False and text in replies:
            yield f"the message {text} was refused and is there"
        for call in own:
            if not (call.is_ok and call.answer.done):
                continue
            said = [entry.text for entry in call.answer.replies]
            if said != replies.get(text):
                yield f"{text} was answered {said}, and the transcript has {replies.get(text)}"
