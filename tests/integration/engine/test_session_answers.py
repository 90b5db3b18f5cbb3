"""What a caller gets who sends a message and waits for its replies."""

from __future__ import annotations

import asyncio

from holdfast.engine import Engine
from holdfast.testing.polling import wait_for
from tests.support.conversing import message, publish, turns

#: Shorter than the interval at which readers look without a notification.
_AT_ONCE_S = 3


async def test_a_repeated_message_gets_its_replies_as_soon_as_they_are_written(
    live: Engine,
) -> None:
    """The first caller did not wait, so nothing else in this process listens."""
    await publish(live)
    first = await live.sessions.deliver("bot", message("hi", id="m1"))
    repeated = asyncio.ensure_future(live.sessions.send("bot", message("hi", id="m1")))
    store = live.store
    async with turns(live) as conversing:
        listeners = f"{store.tag_of(first.session)}:L:{first.session}"
        await wait_for(lambda: store.client.call(["EXISTS", listeners]), timeout_s=_AT_ONCE_S)
        await conversing.answer("hello")
        async with asyncio.timeout(_AT_ONCE_S):
            answer = await repeated
    assert [reply.text for reply in answer.replies] == ["hello"]
    assert (answer.execution, answer.done) == (first.execution, True)


async def test_a_message_that_was_dropped_is_waited_for_no_longer(live: Engine) -> None:
    """The session ended while a turn ran, so nothing answers what was buffered."""
    await publish(live)
    first = await live.sessions.deliver("bot", message("hi", id="m1"))
    second = asyncio.ensure_future(live.sessions.send("bot", message("and?", id="m2")))

    async def is_buffered() -> bool:
        return (await live.sessions.get(first.session)).buffered == 1

    await wait_for(is_buffered, timeout_s=_AT_ONCE_S)
    await live.sessions.end(first.session)
    async with asyncio.timeout(_AT_ONCE_S):
        answer = await second
    assert (answer.replies, answer.state, answer.done) == ((), "cancelled", True)
