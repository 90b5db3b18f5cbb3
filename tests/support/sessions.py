"""Short ways through sessions at the level of the store, for tests."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.model.executions import Claim, NewExecution
from holdfast.model.ids import new_id
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import (
    Activity,
    Busy,
    Delivered,
    Entry,
    MessageWait,
    NewReply,
    Session,
    Turned,
    messages_of,
)
from holdfast.store.store import Store
from tests.support.lifecycle import claim_one

KIND = "bot"


def key_of(user: str = "ann", **parts: str) -> SessionKey:
    """The key of a session of the conversation `bot`."""
    return SessionKey(**({"conversation": "c1", "user": user, "endpoint": KIND} | parts))


async def deliver(
    store: Store,
    text: str = "hi",
    *,
    id: str | None = None,
    user: str = "ann",
    conversation: str = "c1",
    busy: str = "queue",
    apology: str | None = None,
    sender: str | None = None,
    kind: str = "message",
    **options: Any,
) -> Delivered:
    """Deliver a message, as the engine does for a published conversation."""
    activity = Activity(
        key=key_of(user, conversation=conversation, tenant=options.get("tenant", "default")),
        payload=msgspec.json.encode({"text": text}),
        id=id or new_id(),
        kind=kind,  # type: ignore[arg-type]
    )
    item = NewExecution(kind=KIND, check=False, **options)
    return await store.sessions.deliver(
        activity, item, busy=Busy(busy), apology=apology, sender=sender
    )


def reply(step: str, text: str, **fields: Any) -> NewReply:
    """A reply that a conversation writes under a step."""
    return NewReply(step=step, payload=msgspec.json.encode({"text": text}), **fields)


async def turn(store: Store, claim: Claim, *texts: str, wait: str = "", **fields: Any) -> Turned:
    """Reply with texts, under steps called like them, then perhaps wait under a step."""
    replies = [reply(f"say:{text}", text) for text in texts]
    waiting = MessageWait(step=wait, **fields) if wait else None
    return await store.sessions.turn(claim.id, claim.lease, replies, waiting)


async def begin(store: Store, text: str = "hi", **options: Any) -> Claim:
    """Deliver a first message and claim the execution that it starts."""
    delivered = await deliver(store, text, **options)
    assert delivered.execution is not None
    return await claim_one(store, delivered.execution)


async def park(store: Store, *texts: str, wait: str = "receive:1", **fields: Any) -> Claim:
    """Start a conversation that replies with texts and waits for the next message."""
    claim = await begin(store)
    turned = await turn(store, claim, *texts, wait=wait, **fields)
    assert turned.suspended
    return claim


def session_of(claim: Claim) -> str:
    """The id of the session of a claim."""
    assert claim.session is not None
    return claim.session.id


async def session(store: Store, session_id: str) -> Session:
    """What is known of a session."""
    return (await store.sessions.read(session_id)).session


async def entries(store: Store, session_id: str) -> tuple[Entry, ...]:
    """The whole transcript."""
    return (await store.sessions.read(session_id, limit=2_000)).entries


async def lines(store: Store, session_id: str) -> list[str]:
    """The transcript as `> message`, `< reply` and `# note`."""
    signs = {"in": ">", "out": "<", "note": "#"}
    return [f"{signs[entry.direction]} {entry.text}" for entry in await entries(store, session_id)]


def texts_of(received: bytes | None) -> list[str]:
    """The texts of the messages that a wait recorded."""
    assert received is not None
    return [message.payload["text"] for message in messages_of(received)]


def first_texts(claim: Claim) -> list[str]:
    """The texts of the messages that started an execution."""
    given = msgspec.json.decode(claim.input)
    return [message["payload"]["text"] for message in given["messages"]]
