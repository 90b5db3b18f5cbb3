"""A user is welcomed exactly once, whatever races and whatever dies."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import App
from holdfast.engine import open_engine
from holdfast.host.flows.runners import Runners
from holdfast.host.loading import declare_pack
from holdfast.host.packs import bundle
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity
from holdfast.testing import Talk
from holdfast.testing.conversations import crash_every_line
from holdfast.testing.servers import TestServer
from holdfast.worker.conversation import Conversation
from holdfast.worker.worker import Worker, WorkerSettings
from tests.support.packs import pack_of

FILES = {
    "pack.yaml": b"id: shop\nversion: 1.0.0\nentry: main\nwelcome: welcome\n",
    "flows/main.yaml": (
        b"id: main\nnodes: {hi: {emit: {text: Hi.}, out: more}, more: {wait: {}, out: bye},"
        b" bye: {emit: {text: Bye.}}}\n"
    ),
    "flows/welcome.yaml": (
        b"id: welcome\ninternal: true\n"
        b"nodes: {hello: {emit: {text: Welcome.}, out: on}, on: {goto: {flow: main}}}\n"
    ),
}


def declared(app: App) -> Conversation[..., object, object]:
    """Declare a pack that welcomes, in an app."""
    return declare_pack(app, bundle(pack_of(FILES)), Runners()).conversation()


@pytest.mark.parametrize("kept", [0, 100])
async def test_a_crash_at_any_write_welcomes_once(single_server: TestServer, kept: int) -> None:
    """Killed after any write, also between the welcome and its marker: the talk is the same."""

    async def script(talk: Talk) -> None:
        for text in ("hi", "bye", "hi", "bye"):
            await talk.say(text)

    app = App()
    lines = await crash_every_line(app, declared(app), script, server=single_server, kept=kept)
    texts = [line.payload["text"] for line in lines if line.who == "bot"]
    assert texts == ["Welcome.", "Hi.", "Bye.", "Hi.", "Bye."]


async def test_of_racing_conversations_one_welcomes(real_url: str) -> None:
    """A user who begins eight conversations at once, on two workers, is welcomed in one of them."""
    apps = [App(), App()]
    (name, _) = [declared(app).name for app in apps]
    async with open_engine(real_url) as engine, open_engine(real_url) as other:
        workers = [
            Worker(app.attach(near), WorkerSettings(lease_ms=5_000))
            for app, near in zip(apps, (engine, other), strict=True)
        ]
        running = [asyncio.ensure_future(worker.run()) for worker in workers]
        for worker, task in zip(workers, running, strict=True):
            await worker.wait_started(task)
        keys = [SessionKey(conversation=f"c{n}", user="ann", endpoint="web") for n in range(8)]
        sent = [
            engine.sessions.send(name, Activity(key=key, payload=b'{"text":"hi"}')) for key in keys
        ]
        answers = await asyncio.gather(*sent)
        said = sorted([reply.text for reply in answer.replies] for answer in answers)
        assert said == [["Hi."]] * 7 + [["Welcome.", "Hi."]]
        for worker in workers:
            worker.drain()
        await asyncio.gather(*running)
