"""Conversations on a real store: what they say, ask and wait for, also from their journals."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import msgspec
import pytest
from pydantic import BaseModel

from holdfast import (
    App,
    Chat,
    ChatMessage,
    Denied,
    InvalidAnswer,
    SyncChat,
    WaitTimedOut,
)
from holdfast.errors import InvalidInput, TaskError
from holdfast.model.sessions import Effect, SessionState
from holdfast.model.states import State
from holdfast.testing import Talk, conversation
from holdfast.testing.servers import TestServer

Talking = Callable[..., AbstractAsyncContextManager[Talk]]


class Total(BaseModel):
    """What a conversation continues with."""

    sum: int = 0


@pytest.fixture
def app() -> App:
    """An app without conversations."""
    return App()


@pytest.fixture(params=[1_000, 0], ids=["kept", "replayed"])
def talking(request: pytest.FixtureRequest, app: App, single_server: TestServer) -> Talking:
    """Talk with a conversation whose coroutine is kept, or which runs from its journal."""

    def talk(kind: Any, **options: Any) -> AbstractAsyncContextManager[Talk]:
        return conversation(app, kind, server=single_server, kept=request.param, **options)

    return talk


async def test_a_conversation_asks_validates_and_answers(app: App, talking: Talking) -> None:
    """An answer that does not fit is asked for again, and the value arrives typed."""

    @app.conversation
    async def support(chat: Chat) -> None:
        await chat.say(f"Hello {chat.user}.")
        answer = await chat.ask("Which order?", type=int)
        await chat.say(f"{answer.value + 1} {answer.text!r}")

    async with talking(support, user="ann") as talk:
        await talk.say("hi")
        await talk.expect("Hello ann.", "Which order?")
        await talk.say("the first")
        await talk.expect("Please answer with a whole number. Which order?")
        await talk.say(" 41 ")
        await talk.expect("42 ' 41 '")
        assert (await talk.session()).state is SessionState.IDLE


async def test_the_first_message_is_received_once(app: App, talking: Talking) -> None:
    """The message that started the conversation is `chat.message`, and the first received."""

    @app.conversation
    async def echo(chat: Chat) -> None:
        await chat.say(f"started by {chat.message.text}")
        for _ in range(3):
            message = await chat.receive()
            assert message is chat.message
            await chat.say(message.text)

    async with talking(echo) as talk:
        await talk.say("one")
        await talk.expect("started by one", "one")
        await talk.say("two")
        await talk.say("three")
        await talk.expect("two", "three")


async def test_a_question_does_not_take_the_first_message(app: App, talking: Talking) -> None:
    """What started the conversation answers nothing, and is not received after a question."""

    @app.conversation
    async def ask(chat: Chat) -> None:
        name = await chat.ask("Who?")
        await chat.say(f"{name.value}, {(await chat.receive()).text}")

    async with talking(ask) as talk:
        for text in ("hello", "ann", "bye"):
            await talk.say(text)
        await talk.expect("Who?", "ann, bye")


async def test_invalid_answers_end_in_an_error_that_can_be_caught(
    app: App, talking: Talking
) -> None:
    """After the retries the conversation decides; its own words are used before."""

    @app.conversation
    async def ask(chat: Chat) -> None:
        try:
            await chat.ask("Size?", type=Literal["S", "M"], retries=1, invalid="Hm.")
        except InvalidAnswer as error:
            await chat.say(str(error))

    async with talking(ask) as talk:
        for text in ("hello", "XL", "L"):
            await talk.say(text)
        await talk.expect("Size?", "Hm. Size?", "no valid answer to 'Size?': Hm.")


async def test_a_form_is_validated_as_a_model(app: App, talking: Talking) -> None:
    """The data of a form answers a question whose type is a model; typed text does not."""

    class Address(BaseModel):
        street: str
        number: int

    @app.conversation
    async def ask(chat: Chat) -> None:
        address = (await chat.ask("Where?", type=Address)).value
        await chat.say(f"{address.street} {address.number + 1}")

    async with talking(ask) as talk:
        await talk.say("hello")
        await talk.say("Long Street 1")
        await talk.say(payload={"data": {"street": "Long Street"}})
        await talk.say(payload={"data": {"street": "Long Street", "number": 1}})
        await talk.expect(
            "Where?",
            re.compile("does not fit"),
            re.compile("number: Field required"),
            "Long Street 2",
        )


async def test_an_option_is_chosen_by_button_name_or_number(app: App, talking: Talking) -> None:
    """Names are found in any case; a number is that of the option."""

    @app.conversation
    async def choose(chat: Chat) -> None:
        for _ in range(4):
            value = await chat.choose("Which?", {"s": "Small one", "l": "Large one"})
            await chat.say(f"chose {value}")

    async with talking(choose) as talk:
        await talk.say("hello")
        await talk.press("l")
        await talk.say("SMALL ONE")
        await talk.say("2")
        await talk.say("s")
        texts = [line.payload["text"] for line in await talk.transcript() if line.who == "bot"]
        assert [text for text in texts if text.startswith("chose")] == [
            "chose l",
            "chose s",
            "chose l",
            "chose s",
        ]


async def test_a_button_of_an_earlier_question_does_not_answer_the_next(
    app: App, talking: Talking
) -> None:
    """A press belongs to its reply: pressed again later it skips no question."""

    @app.conversation
    async def choose(chat: Chat) -> None:
        for text in ("First?", "Second?"):
            await chat.say(await chat.choose(text, ["yes", "no"]))

    async with talking(choose) as talk:
        await talk.say("hello")
        first = (await talk.entries())[-1].number
        await talk.say(payload={"choice": "yes", "reply": first})
        await talk.say(payload={"choice": "yes", "reply": first})
        await talk.expect(
            "First?", "yes", "Second?", "That belongs to an earlier question. Second?"
        )
        await talk.press("no")
        await talk.expect("no")


async def test_typed_text_is_never_a_button_press(app: App, talking: Talking) -> None:
    """Metadata that a channel stamps on messages does not make a choice of them."""

    @app.conversation
    async def choose(chat: Chat) -> None:
        await chat.receive()
        message = await chat.receive()
        await chat.say(f"{message.choice} {message.text}")

    async with talking(choose) as talk:
        await talk.say("hello")
        await talk.say("yes", payload={"metadata": {"choice": "no"}, "value": "no"})
        await talk.expect("None yes")


async def test_a_wait_times_out_with_an_exception(app: App, talking: Talking) -> None:
    """Days later, on the clock of the store; the conversation goes on."""

    @app.conversation
    async def wait(chat: Chat) -> None:
        try:
            await chat.ask("Still there?", timeout="2d")
        except WaitTimedOut:
            await chat.say("Goodbye.")

    async with talking(wait) as talk:
        await talk.say("hello")
        await talk.advance(days=1)
        await talk.expect("Still there?")
        await talk.advance(days=1)
        await talk.expect("Goodbye.")


async def test_an_approval_by_the_right_person_resumes(app: App, talking: Talking) -> None:
    """Messages that come meanwhile wait for the conversation."""

    @app.conversation
    async def refund(chat: Chat) -> None:
        await chat.say("Asking.")
        (signal,) = await chat.approval("Refund?", approvers=["lead"])
        await chat.say(f"{signal.source.identity} approved.")
        try:
            await chat.approval("Again?")
        except Denied:
            await chat.receive()
            await chat.say(f"Denied. {(await chat.receive()).text}")

    async with talking(refund) as talk:
        await talk.say("refund")
        await talk.expect("Asking.")
        assert (await talk.say("well?")).effect is Effect.BUFFERED
        await talk.approve(by="lead")
        await talk.expect("lead approved.")
        await talk.deny()
        await talk.expect("Denied. well?")


async def test_a_handover_gives_back_what_was_written_meanwhile(app: App, talking: Talking) -> None:
    """While a person answers, messages do not reach the conversation."""

    @app.conversation
    async def handover(chat: Chat) -> None:
        messages = await chat.handover("ann", reason="difficult")
        await chat.say(" ".join(message.text for message in messages))
        await chat.say((await chat.ask("More?")).value)

    async with talking(handover) as talk:
        await talk.say("hello")
        session = await talk.session()
        assert (session.person, session.handover_reason) == ("ann", "difficult")
        await talk.say("one")
        await talk.say("two")
        await talk.expect()
        await talk.test.engine.sessions.handover(talk.key.id, None)
        await talk.run()
        await talk.say("three")
        await talk.expect("one two", "More?", "three")


async def test_the_state_of_a_session_outlives_a_conversation(app: App, talking: Talking) -> None:
    """Values have versions, and a time to live on the store's clock."""

    @app.conversation
    async def count(chat: Chat) -> None:
        visits = await chat.state.get("visits", 0)
        await chat.state.set("visits", visits + 1)
        await chat.state.set("short", "x", ttl="1h")
        found = await chat.state.read("visits")
        lost = await chat.state.compare_and_set("visits", 99, expected=found.version - 1)
        won = await chat.state.compare_and_set("visits", found.value, expected=found.version)
        await chat.receive()
        await chat.receive()
        short = await chat.state.get("short")
        await chat.say(f"{visits} {lost.changed} {won.changed} {won.version} {short}")

    async with talking(count) as talk:
        await talk.say("one")
        await talk.advance(hours=2)
        await talk.say("two")
        await talk.expect("0 False True 2 None")
        await talk.say("three")
        await talk.say("four")
        await talk.expect("1 False True 4 x")


async def test_history_is_the_same_in_every_run(app: App, talking: Talking) -> None:
    """It ends where the transcript ended when it was asked for."""
    seen: list[list[str]] = []

    @app.conversation
    async def remember(chat: Chat) -> None:
        await chat.say("one")
        seen.append([entry.text for entry in await chat.history(2)])
        await chat.ask("two")
        await chat.ask("three")

    async with talking(remember) as talk:
        for text in ("a", "b", "c"):
            await talk.say(text)
    assert set(map(tuple, seen)) == {("a", "one")}


async def test_a_streamed_reply_is_one_line_of_the_transcript(app: App, talking: Talking) -> None:
    """Readers get its parts as frames that name the reply; the step runs once."""
    calls: list[str] = []

    async def model(prompt: str) -> AsyncIterator[str]:
        calls.append(prompt)
        for word in ("Tea ", "is ", "fine."):
            yield word

    @app.conversation
    async def talk_much(chat: Chat) -> None:
        async with chat.typing() as out:
            await out.write("Let me ")
            await out.write("think.")
        text = await chat.stream_reply("answer", model, chat.message.text)
        await chat.ask(f"{len(text)}?")

    async with talking(talk_much) as talk:
        delivered = await talk.say("tea?")
        assert delivered.execution is not None
        frames = await talk.test.engine.streams.read(delivered.execution)
        parts = [
            msgspec.json.decode(frame.payload) for frame in frames.frames if frame.type == "reply"
        ]
        await talk.say("yes")
        await talk.expect("Let me think.", "Tea is fine.", "12?")
    assert [(part["number"], part["start"], part["text"]) for part in parts] == [
        (2, 0, "Let me "),
        (2, 7, "think."),
        (3, 0, "Tea "),
        (3, 4, "is "),
        (3, 7, "fine."),
    ]
    assert calls == ["tea?"]


async def test_continuing_with_a_state_starts_an_empty_journal(app: App, talking: Talking) -> None:
    """The execution and unread messages stay; steps may have the same names again."""

    @app.conversation
    async def add(chat: Chat, state: Total = Total()) -> None:  # noqa: B008 - never changed
        if state.sum == 0:
            await chat.say("Numbers, please.")
            await chat.receive()
        number = int((await chat.receive()).text)
        total = await chat.step("add", lambda: state.sum + number)
        await chat.say(f"{total}")
        await chat.continue_as(Total(sum=total))

    async with talking(add) as talk:
        first = await talk.say("hello")
        for text in ("1", "2", "3"):
            delivered = await talk.say(text)
        assert delivered.execution == first.execution
        await talk.expect("Numbers, please.", "1", "3", "6")
        assert first.execution is not None
        assert len(await talk.test.engine.steps(first.execution)) <= 2


async def test_merged_messages_arrive_as_one(app: App, talking: Talking) -> None:
    """With busy="merge" the texts are joined, and the parts are kept."""
    seen: list[ChatMessage] = []

    @app.conversation(busy="merge")
    async def slow(chat: Chat) -> None:
        await chat.approval("wait")
        await chat.receive()
        seen.append(await chat.receive())
        await chat.say(seen[-1].text)

    async with talking(slow) as talk:
        for text in ("a", "b", "c"):
            await talk.say(text)
        await talk.approve()
        await talk.expect("b\nc")
    assert [part.payload["text"] for part in seen[-1].parts] == ["b", "c"]


async def test_a_failed_conversation_apologises_and_the_next_message_starts_again(
    app: App, talking: Talking
) -> None:
    """What was said before the failure stays."""

    @app.conversation(apology="Oh no.")
    async def broken(chat: Chat) -> None:
        await chat.say("Hm.")
        raise RuntimeError

    async with talking(broken) as talk:
        await talk.say("one")
        await talk.expect("Hm.", "Oh no.")
        assert (await talk.say("two")).effect is Effect.STARTED
        await talk.expect("Hm.", "Oh no.")


async def test_a_retry_says_nothing_twice(app: App, talking: Talking) -> None:
    """A streamed reply that broke off begins again under its number."""
    tries: list[int] = []

    @app.conversation(retries=1)
    async def flaky(chat: Chat) -> None:
        tries.append(chat.attempt)
        await chat.say("one")
        async with chat.typing() as out:
            await out.write("two")
            if len(tries) == 1:
                raise RuntimeError
        await chat.say("three")

    async with talking(flaky) as talk:
        await talk.say("go")
        await talk.test.run_until_idle()
        await talk.expect("one", "two", "three")
    assert tries == [0, 1]


async def test_a_caught_failure_leaves_a_streamed_reply_as_it_is(
    app: App, talking: Talking
) -> None:
    """The conversation goes on, so its reader gets what was written."""

    @app.conversation
    async def careful(chat: Chat) -> None:
        with contextlib.suppress(ValueError):
            async with chat.typing() as out:
                await out.write("half a sen")
                raise ValueError
        await chat.ask("Sorry?")

    async with talking(careful) as talk:
        await talk.say("go")
        await talk.say("ok")
        await talk.expect("half a sen", "Sorry?")


async def test_a_plain_function_converses_in_a_thread(app: App, talking: Talking) -> None:
    """It blocks where others await."""

    @app.conversation
    def plain(chat: SyncChat, state: int = 0) -> None:
        answer = chat.ask("How many?", type=int)
        with chat.typing() as out:
            out.write("Count")
            out.write("ing.")
        chat.stream_reply("say", lambda name: (word for word in ("Well, ", name)), chat.user)
        chat.state.set("n", answer.value)
        lines = len(chat.history())
        again = chat.choose(f"{chat.state.get('n')} of {lines}. Again?", ["yes", "no"])
        if again == "yes":
            chat.continue_as(state + 1)
        chat.say(f"{chat.user}: {state} {chat.message.text}")

    async with talking(plain, user="ann") as talk:
        for text in ("hi", "two", "2", "YES", "3", "no"):
            await talk.say(text)
        await talk.expect(
            "How many?",
            "Please answer with a whole number. How many?",
            "Counting.",
            "Well, ann",
            "2 of 7. Again?",
            "How many?",
            "Counting.",
            "Well, ann",
            "3 of 13. Again?",
            "ann: 1 no",
        )


async def test_a_conversation_is_not_submitted(app: App, talking: Talking) -> None:
    """It needs a session, so only messages start it."""

    @app.conversation
    async def talk_to(chat: Chat) -> None:
        await chat.say("hi")

    async with talking(talk_to) as talk:
        with pytest.raises(TaskError, match="send"):
            await talk_to.submit()
        handle = await talk.test.engine.submit("talk_to", input=b"{}")
        await talk.test.run_until_idle()
        described = await talk.test.engine.describe(handle.id)
        assert described.state is State.FAILED
        assert "send it messages" in str(described.error)


async def test_a_step_cannot_talk(app: App, talking: Talking) -> None:
    """A later attempt would not run it, and take its lines for those that follow."""

    @app.conversation
    async def confused(chat: Chat) -> None:
        with pytest.raises(TaskError, match="say:1: a step cannot talk"):
            await chat.step("wrong", chat.say, "hi")
        with pytest.raises(TaskError, match="say:2: a step cannot talk"):
            await chat.step("worse", lambda: chat.ask("hi?"))
        await chat.say("ok")

    async with talking(confused) as talk:
        await talk.say("hi")
        await talk.expect("ok")


async def test_every_turn_has_its_own_time_and_losses(app: App, talking: Talking) -> None:
    """A conversation of many turns does not run out of them."""

    @app.conversation(timeout=60, max_reclaims=1)
    async def long(chat: Chat) -> None:
        while True:
            message = await chat.receive()
            await chat.step(chat.number("work"), lambda: None)
            await chat.say(message.text)

    async with talking(long) as talk:
        for number in range(4):
            talk.test.kill_after(f"work:{number + 1}")
            await talk.say(str(number))
        await talk.expect("0", "1", "2", "3")


async def test_an_empty_reply_is_refused(app: App, talking: Talking) -> None:
    """Nothing would be shown, so it is an error of the author."""

    @app.conversation
    async def silent(chat: Chat) -> None:
        for wrong in ({"text": ""}, {"text": 5}, {"buttons": ["x", "x"]}):
            with pytest.raises(InvalidInput):
                await chat.say(**wrong)
        await chat.say(card={"type": "AdaptiveCard"}, data=[1])

    async with talking(silent) as talk:
        await talk.say("hi")
        (line,) = [line for line in await talk.transcript() if line.who == "bot"]
        assert line.payload == {"card": {"type": "AdaptiveCard"}, "data": [1]}
