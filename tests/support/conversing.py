"""Sessions by hand: messages in, and turns as a worker would run them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from holdfast.engine import Engine
from holdfast.model.executions import Claim
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, MessageWait, NewReply, Turned

NAME = "bot"


async def publish(engine: Engine, busy: str = "queue", **options: object) -> None:
    """Publish a conversation, as a worker that has it does."""
    await engine.tasks.publish({NAME: {"conversation": {"busy": busy, **options}}})


def key(user: str = "ann", **parts: str) -> SessionKey:
    """The key of a session."""
    return SessionKey(**({"conversation": "c1", "user": user, "endpoint": NAME} | parts))


def message(text: str, user: str = "ann", **fields: str) -> Activity:
    """A message from a user."""
    return Activity(key=key(user), payload=msgspec.json.encode({"text": text}), **fields)  # type: ignore[arg-type]


def reply(step: str, text: str) -> NewReply:
    """A reply that a conversation writes."""
    return NewReply(step=step, payload=msgspec.json.encode({"text": text}))


@asynccontextmanager
async def turns(engine: Engine) -> AsyncIterator[Conversing]:
    """Claim turns of conversations."""
    async with engine.claimer(worker="w1", kinds=(NAME,)) as claimer:

        async def claim() -> Claim:
            (claim,) = await claimer.claim(1, 30_000, 10_000)
            return claim

        yield Conversing(engine, claim)


class Conversing:
    """Runs turns by hand."""

    def __init__(self, engine: Engine, claim: object) -> None:
        self._engine = engine
        self.claim = claim

    async def answer(self, *texts: str, wait: bool = True) -> Turned:
        """Claim the next turn, reply with texts, and wait for the next message."""
        claim: Claim = await self.claim()  # type: ignore[operator]
        first = len(claim.steps)
        replies = [reply(f"say:{first + i}", text) for i, text in enumerate(texts)]
        turned = await self._engine.sessions.turn(
            claim.id,
            claim.lease,
            replies,
            MessageWait(step=f"receive:{first}") if wait else None,
        )
        if not wait:
            await self._engine.complete(claim.id, claim.lease, b"null")
        return turned
