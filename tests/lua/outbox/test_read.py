"""hf_outbox_read."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.limit_refs import LimitRef
from holdfast.store.outboxes import Release, parse
from tests.support.lifecycle import create_one
from tests.support.limits import claim_one_limited, make_quota


async def test_an_execution_that_ends_leaves_word_for_its_quotas(engine: Engine) -> None:
    """Which place under which epoch, and that it was used."""
    await make_quota(engine.store)
    claim = await claim_one_limited(engine, await create_one(engine.store, quotas=("q",)))
    tag = engine.store.tag_of(claim.id)
    assert await engine.store.outboxes.read(tag) == []
    await engine.store.executions.complete(claim.id, claim.lease, b"1")
    (entry,) = await engine.store.outboxes.read(tag)
    assert parse(entry) == Release(claim.id, str(claim.lease.epoch), "1", (LimitRef.quota("q"),))


async def test_an_execution_without_limits_says_nothing(engine: Engine) -> None:
    """Its way is as short as ever."""
    claim = await claim_one_limited(engine, await create_one(engine.store))
    await engine.store.executions.complete(claim.id, claim.lease, b"1")
    assert await engine.store.outboxes.read(engine.store.tag_of(claim.id)) == []
