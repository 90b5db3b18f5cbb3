"""hf_stream_summary."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound
from holdfast.model.frames import NewFrame, Summary
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, create_one, refused
from tests.support.streaming import running


async def test_the_document_is_empty_at_first(store: Store) -> None:
    """An object, at version 0."""
    execution_id = await create_one(store)
    assert await store.streams.summary(execution_id) == Summary(document=b"{}", version=0)


async def test_the_document_comes_back_byte_for_byte(store: Store) -> None:
    """The store does not look into it."""
    claim = await running(store)
    document = b'{"n": 12345678901234567890.10, "e": [], "o": {}}'
    patch = NewFrame(type="summary", payload=b"{}")
    patched = Summary(document=document, version=0)
    await store.streams.append(claim.id, claim.lease, [patch], key="k", patched=patched)
    assert await store.streams.summary(claim.id) == Summary(document=document, version=1)


async def test_the_summary_of_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """It has none."""
    await refused(store.streams.summary("nobody"), ExecutionNotFound, dump, id="nobody")
