"""Replies reach their receiver once, in order, whatever the receiver and the senders do."""

from __future__ import annotations

import asyncio

from holdfast.engine import Engine
from holdfast.engine.sending import AppSending
from holdfast.errors import ReplyRejected
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.sessions import OutgoingReply
from holdfast.testing.polling import wait_for
from tests.support.conversing import message, publish, turns

QUICK = RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=10, max_ms=20))


class Receiver:
    """Takes replies, and fails as often as it is asked to."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.keys: list[str] = []
        self.failures: list[Exception] = []
        self.at_once = 0
        self.most_at_once = 0

    async def got(self, texts: list[str]) -> None:
        """Wait until it took exactly these."""

        async def has_them() -> bool:
            return self.texts == texts

        await wait_for(has_them)

    async def send(self, reply: OutgoingReply) -> None:
        """Take a reply."""
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            self.keys.append(reply.idempotency_key)
            if self.failures:
                raise self.failures.pop(0)
            self.texts.append(reply.value["text"])
        finally:
            self.at_once -= 1


async def talk(engine: Engine, *texts: str, user: str = "ann") -> str:
    """Have a conversation reply with texts; returns its session."""
    await publish(engine)
    delivered = await engine.sessions.deliver("bot", message("hi", user), sender="crm")
    async with turns(engine) as conversing:
        await conversing.answer(*texts)
    return delivered.session


async def deliveries(engine: Engine, session: str) -> list[str | None]:
    transcript = await engine.sessions.transcript(session)
    return [entry.delivery for entry in transcript.entries if entry.direction == "out"]


def sending(engine: Engine, receiver: Receiver) -> AppSending:
    return AppSending(engine.store, {"crm": receiver.send}, QUICK)


async def test_replies_are_sent_once_and_in_order(live: Engine) -> None:
    receiver = Receiver()
    session = await talk(live, "one", "two", "three")
    assert await deliveries(live, session) == ["pending"] * 3
    async with live.sessions.sending({"crm": receiver.send}):
        await receiver.got(["one", "two", "three"])
        await wait_for_sent(live, session)
    assert receiver.most_at_once == 1
    assert receiver.keys == [f"{session}:{number}" for number in (2, 3, 4)]


async def wait_for_sent(engine: Engine, session: str) -> None:
    async def are_sent() -> bool:
        return set(await deliveries(engine, session)) == {"sent"}

    await wait_for(are_sent)


async def test_replies_written_while_others_are_sent_follow_at_once(live: Engine) -> None:
    receiver = Receiver()
    async with live.sessions.sending({"crm": receiver.send}):
        for number in range(5):
            await talk(live, f"r{number}")
        await receiver.got([f"r{number}" for number in range(5)])


async def test_two_processes_send_a_reply_once(live: Engine) -> None:
    receiver = Receiver()
    sessions = [await talk(live, "a", "b", user=f"u{n}") for n in range(10)]
    services = [asyncio.create_task(sending(live, receiver).run()) for _ in range(2)]
    for session in sessions:
        await wait_for_sent(live, session)
    for service in services:
        service.cancel()
    assert len(receiver.keys) == len(set(receiver.keys)) == 20


async def test_a_failed_reply_is_tried_again_before_the_next(live: Engine) -> None:
    receiver = Receiver()
    receiver.failures = [RuntimeError("away"), RuntimeError("away")]
    session = await talk(live, "one", "two")
    service = asyncio.create_task(sending(live, receiver).run())
    await receiver.got(["one", "two"])
    await wait_for_sent(live, session)
    service.cancel()
    assert receiver.keys == [f"{session}:2"] * 3 + [f"{session}:3"]


async def test_a_reply_that_never_arrives_is_dead_and_the_next_follows(live: Engine) -> None:
    receiver = Receiver()
    receiver.failures = [RuntimeError("away")] * 3
    session = await talk(live, "one", "two")
    service = asyncio.create_task(sending(live, receiver).run())
    await receiver.got(["two"])
    await wait_for(lambda: is_settled(live, session, ["dead", "sent"]))
    await live.sessions.resend(session, 2)
    await receiver.got(["two", "one"])
    await wait_for_sent(live, session)
    service.cancel()


async def test_a_rejected_reply_is_dead_after_one_try(live: Engine) -> None:
    receiver = Receiver()
    receiver.failures = [ReplyRejected("no such number")]
    session = await talk(live, "one")
    service = asyncio.create_task(sending(live, receiver).run())
    await wait_for(lambda: is_settled(live, session, ["dead"]))
    service.cancel()
    assert receiver.keys == [f"{session}:2"]


async def is_settled(engine: Engine, session: str, expected: list[str]) -> bool:
    return await deliveries(engine, session) == expected


async def test_sessions_without_a_sender_send_nothing(live: Engine) -> None:
    receiver = Receiver()
    await publish(live)
    delivered = await live.sessions.deliver("bot", message("hi"))
    async with turns(live) as conversing:
        await conversing.answer("one")
    assert await deliveries(live, delivered.session) == [None]
    handed, _ = await live.store.sessions.outgoing(
        live.store.tag_of(delivered.session), "f", ["crm"], lease_ms=1, limit=10
    )
    assert (handed, receiver.texts) == ([], [])
