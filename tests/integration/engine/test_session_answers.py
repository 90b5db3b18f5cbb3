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
