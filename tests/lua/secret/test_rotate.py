"""hf_secret_rotate."""

from __future__ import annotations

import pytest

from holdfast.errors import RotationConflict
from holdfast.model.secrets import SealingKey
from holdfast.store.store import Store
from tests.support.invariants import violations
from tests.support.lifecycle import Dump

A, B, C = (SealingKey(f"k{letter}", letter.encode() * 32) for letter in "abc")


async def test_the_first_process_makes_the_first_key(store: Store) -> None:
    """The second one learns which it is."""
    assert await store.secrets.rotate(A, "") == "ka"
    assert await store.secrets.rotate(B, "") == "ka"
    ring = await store.secrets.ring()
    assert (ring.current, dict(ring.keys)) == ("ka", {"ka": A})


async def test_old_keys_stay(store: Store, dump: Dump) -> None:
    """A rotation can be repeated, and one that came too late changes nothing."""
    await store.secrets.rotate(A, "")
    for _ in range(2):
        assert await store.secrets.rotate(B, "ka") == "kb"
    before = dump()
    assert await store.secrets.rotate(C, "ka") == "kb"
    with pytest.raises(RotationConflict):
        await store.secrets.rotate(A, "kb")
    assert dump() == before
    assert sorted((await store.secrets.ring()).keys) == ["ka", "kb"]
    assert violations(before) == []
