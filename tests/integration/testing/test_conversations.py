"""Conversations under test: lines, time, and crashes at every line."""

from __future__ import annotations

import re

import pytest

from holdfast import App, Chat, SyncChat
from holdfast.testing import Talk, TalkMatters, conversation, crash_every_line
from holdfast.testing.servers import TestServer
from tests.support.examples import load_example

support_bot = load_example("support_bot")

KEPT = pytest.mark.parametrize("kept", [1_000, 0], ids=["kept", "replayed"])


async def order_status(talk: Talk) -> None:
    """Ask for an order, with mistakes on the way."""
    await talk.say("hello")
    await talk.expect("Hello. I am the shop's bot.", "What can I do for you?")
    await talk.press("status")
    await talk.expect("Which order?")
    await talk.say("the teapot")
    await talk.expect(re.compile("whole number"))
    await talk.say("17")
    await talk.expect("Order 17, a teapot, is sent.", "Anything else?")
    await talk.say("no")
    await talk.expect("Goodbye.")


async def refund(talk: Talk) -> None:
    """Ask for a refund that is approved two days later; the user is impatient."""
    await talk.say("hello")
    await talk.say("a refund")
    await talk.say("18")
    await talk.advance(days=1)
    await talk.say("yes")
    await talk.advance(days=1)
    await talk.approve(by="lead")
    await talk.say("1")
    await talk.say("99")
    await talk.say("person")
    await talk.test.engine.sessions.handover(talk.key.id, None)
    await talk.run()


@KEPT
@pytest.mark.parametrize("script", [order_status, refund])
async def test_the_support_bot_says_the_same_wherever_its_worker_dies(
    single_server: TestServer, script: object, kept: int
) -> None:
    """Killed after every write, the transcript is that of an undisturbed run."""
    lines = await crash_every_line(
        support_bot.app,
        support_bot.support,
        script,  # type: ignore[arg-type]
        server=single_server,
        kept=kept,
    )
    assert len(lines) > 8


@KEPT
async def test_a_sync_conversation_survives_crashes(single_server: TestServer, kept: int) -> None:
    """Also when it continues with a state."""
    app = App()

    @app.conversation
    def plain(chat: SyncChat, state: int = 0) -> None:
        number = chat.ask("Number?", type=int).value
        with chat.typing() as out:
            out.write("Adding.")
        total = chat.step("add", lambda: state + number)
        chat.state.set("total", total)
        chat.say(str(total))
        if total < 5:
            chat.continue_as(total)

    async def script(talk: Talk) -> None:
        for text in ("hi", "2", "x", "4"):
            await talk.say(text)

    lines = await crash_every_line(app, plain, script, server=single_server, kept=kept)
    assert str(lines[-1]) == "bot: 6"


async def test_a_line_that_is_not_journaled_is_found(single_server: TestServer) -> None:
    """A conversation that counts in memory says something else after a crash."""
    app, calls = App(), []

    @app.conversation
    async def forgetful(chat: Chat) -> None:
        calls.append(1)
        await chat.ask("One?")
        await chat.say(f"{len(calls)} calls")

    async def script(talk: Talk) -> None:
        calls.clear()
        await talk.say("hi")
        await talk.say("yes")

    with pytest.raises(TalkMatters, match=r"says something else(.|\n)*2 calls"):
        await crash_every_line(app, forgetful, script, server=single_server)


async def test_an_unexpected_line_shows_the_talk_so_far(single_server: TestServer) -> None:
    """The error has what was expected, what came, and the transcript."""
    app = App()

    @app.conversation
    async def greet(chat: Chat) -> None:
        await chat.say("Hello.")
        await chat.say("Bye.")

    async with conversation(app, greet, server=single_server) as talk:
        await talk.say("hi")
        with pytest.raises(AssertionError, match=r"expected \['Hi'\], got \['Hello.', 'Bye.'\]"):
            await talk.expect("Hi")
        with pytest.raises(AssertionError, match=r"user: hi\n  bot: Hello\."):
            await talk.press("yes")
        with pytest.raises(AssertionError, match="does not wait at 'approval'"):
            await talk.approve()
        await talk.expect("Hello.", ...)
        await talk.expect()
