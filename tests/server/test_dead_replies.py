"""Dead replies over HTTP and from the command line: seen by their tenant, and sent again."""

from __future__ import annotations

import pytest

from holdfast.client.client import Client
from holdfast.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.model.dead_replies import DeadReply
from holdfast.model.sessions import NewReply
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.samples import activity, conversation

SENDER = "web"


async def bury(engine: Engine, tenant: str, *texts: str) -> str:
    """Reply to a user with texts that no receiver takes; returns the session."""
    name = await conversation(engine, tenant)
    delivered = await engine.sessions.deliver(name, activity(name, tenant), sender=SENDER)
    async with engine.claimer(worker="w", lanes=["default"], kinds=[name]) as claimer:
        (claim,) = await claimer.claim(1, 5_000)
    replies = [NewReply(step=f"say:{n}", payload=b"{}") for n, _ in enumerate(texts, 1)]
    await engine.sessions.turn(claim.id, claim.lease, replies, None)
    tag = engine.store.tag_of(delivered.session)
    await engine.store.sessions.outgoing(tag, "f1", (SENDER,), lease_ms=60_000, limit=10)
    for number, text in enumerate(texts, 2):
        await engine.store.sessions.settle(
            delivered.session, "f1", number, "dead", lease_ms=60_000, delay_ms=None, error=text
        )
    return delivered.session


async def test_tenants_see_their_own(site: Site) -> None:
    """An operator sees all; pages continue where they ended."""
    ours = await bury(site.engine, OURS, "no", "never")
    theirs = await bury(site.engine, THEIRS, "gone")

    def places(items: tuple[DeadReply, ...]) -> set[tuple[str, int, str]]:
        return {(one.session, one.number, one.problem) for one in items}

    async with Client(site.url, key=await site.key(tenant=OURS)) as client:
        page = await client.dead_replies.list(limit=1)
        assert page.next_cursor is not None
        rest = await client.dead_replies.list(limit=1, cursor=page.next_cursor)
        assert rest.next_cursor is None
        assert places((*page.items, *rest.items)) == {(ours, 2, "no"), (ours, 3, "never")}
        near = await site.engine.dead_replies.list(tenant=OURS)
        assert near.items == (*page.items, *rest.items)
        with pytest.raises(InvalidInput, match="earlier page"):
            await client.dead_replies.list(cursor="x")
        await client.sessions.resend(ours, 2)
        assert places((await client.dead_replies.list()).items) == {(ours, 3, "never")}
    async with Client(site.url, key=await site.key(tenant=None)) as client:
        found = places((await client.dead_replies.list()).items)
        assert found == {(ours, 3, "never"), (theirs, 2, "gone")}
        assert places((await client.dead_replies.list(tenant=THEIRS)).items) == {
            (theirs, 2, "gone")
        }
