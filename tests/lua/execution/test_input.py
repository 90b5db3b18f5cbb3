"""hf_execution_input."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, claim_one, create_one, refused

SIZES = [b"", b"null", b"x" * 64, b"x" * 65, bytes(range(256)) * 4_096]


@pytest.mark.parametrize("payload", SIZES, ids=len)
async def test_an_input_comes_back_byte_for_byte(store: Store, payload: bytes) -> None:
    """To readers and to workers, before and after the end."""
    execution_id = await create_one(store, input=payload)
    assert await store.queries.input(execution_id) == payload
    claim = await claim_one(store, execution_id)
    assert claim.input == payload
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert await store.queries.input(execution_id) == payload


async def test_a_large_input_does_not_swell_the_record(store: Store, dump: Dump) -> None:
    """It has a key of its own, so the record keeps its compact form."""
    execution_id = await create_one(store, input=b"x" * 257)
    found = dump()
    tag = store.tag_of(execution_id)
    assert found[f"{tag}:i:{execution_id}"] == b"x" * 257
    assert b"input" not in found[f"{tag}:x:{execution_id}"]  # type: ignore[operator]


async def test_the_input_of_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.queries.input("nobody"), ExecutionNotFound, dump, id="nobody")
