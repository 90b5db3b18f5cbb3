"""Approvals in conversations: a link per person, swapped, shared and used twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from holdfast import App, Chat, NotApproved
from holdfast.errors import InvalidToken, SignalNotAllowed
from holdfast.model.waitpoints import NewSignal, Source
from holdfast.testing import Talk, conversation
from holdfast.testing.servers import TestServer

Talking = Callable[..., AbstractAsyncContextManager[Talk]]


@pytest.fixture
def app() -> App:
    """An app without conversations."""
    return App()


@pytest.fixture
def talking(app: App, single_server: TestServer) -> Talking:
    """Talk with a conversation."""

    def talk(kind: Any) -> AbstractAsyncContextManager[Talk]:
        return conversation(app, kind, server=single_server)

    return talk


async def test_two_approvals_in_a_conversation_are_two_people(app: App, talking: Talking) -> None:
    """Links are swapped, shared and used twice; only two people are two."""
    links: dict[str, list[str]] = {"ann": [], "ben": []}

    @app.conversation
    async def pay(chat: Chat) -> None:
        came = await chat.approval("Pay?", approvers=["ann", "ben", "cid"], count=2, name="pay")
        await chat.say(" ".join(sorted(signal.source.identity for signal in came)))
        question = await chat.waitpoint("mail", approvers=["ann", "ben"])
        for person, link in question.links("https://h.example").items():
            await chat.step(f"mail-{person}", links[person].append, link)
        await chat.wait_for(question, need=2)
        await chat.say("Done.")

    async with talking(pay) as talk:
        await talk.say("pay")
        waitpoints = talk.test.engine.waitpoints
        execution = (await talk.session()).execution
        assert execution is not None

        async def send(token: str, by: str = "") -> str:
            point = (await waitpoints.of(execution))[-1]
            source = Source(type="user", identity=by) if by else Source()
            signal = NewSignal(waitpoint=point.id, name="approve", payload=b"1", source=source)
            try:
                return await waitpoints.signal(signal, token)
            finally:
                await talk.run()

        (point,) = await waitpoints.of(execution)
        ann = (await waitpoints.token(point.id, reader="bot", person="ann")).reveal()
        assert await send(ann) == "appended"
        assert await send(ann) == "duplicate"
        with pytest.raises(SignalNotAllowed):
            await send(ann, "ben")
        with pytest.raises(SignalNotAllowed):
            await waitpoints.token(point.id, reader="bot", person="dan")
        with pytest.raises(SignalNotAllowed):
            await waitpoints.signal(NewSignal(waitpoint=point.id, name="approve", payload=b"1"))
        await talk.expect()
        await talk.approve("pay", by="ben")
        await talk.expect("ann ben")
        with pytest.raises(InvalidToken):
            await send(ann)
        tokens = {person: link.partition("#")[2] for person, (link,) in links.items()}
        assert await send(tokens["ann"]) == "appended"
        assert await send(tokens["ann"]) == "duplicate"
        await talk.expect()
        assert await send(tokens["ben"]) == "resumed"
        await talk.expect("Done.")


async def test_an_operator_ends_an_approval_and_approves_nothing(
    app: App, talking: Talking
) -> None:
    """The conversation goes on as after a denial, and knows why."""

    @app.conversation
    async def pay(chat: Chat) -> None:
        try:
            await chat.approval("Pay?", approvers=["ann"], on_open="https://bot.example/asked")
        except NotApproved as error:
            await chat.say(str(error))

    async with talking(pay) as talk:
        await talk.say("pay")
        execution = (await talk.session()).execution
        assert execution is not None
        (point,) = await talk.test.engine.waitpoints.of(execution)
        assert point.on_open == "https://bot.example/asked"
        await talk.test.engine.waitpoints.resume(execution, identity="ops")
        await talk.run()
        await talk.expect("not approved: ops resumed the execution")
