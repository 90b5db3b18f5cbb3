"""Short ways to frames, for tests."""

from __future__ import annotations

from typing import Any

from holdfast.model.executions import Claim
from holdfast.model.frames import Appended, Frame, NewFrame, Summary
from holdfast.model.ids import new_id
from holdfast.store.store import Store
from tests.support.lifecycle import claim_one, create_one


def text(words: str, **fields: Any) -> NewFrame:
    """Make a frame of text."""
    return NewFrame(type="text", payload=words.encode(), **fields)


async def append(
    store: Store, claim: Claim, *words: str, key: str | None = None, **fields: Any
) -> Appended | Summary:
    """Append frames of text as one batch."""
    frames = [text(word, **fields) for word in words]
    return await store.streams.append(claim.id, claim.lease, frames, key=key or new_id())


async def running(store: Store, **fields: Any) -> Claim:
    """Create an execution and claim it."""
    return await claim_one(store, await create_one(store, **fields))


async def read_all(store: Store, execution_id: str, after: int = 0) -> list[Frame]:
    """Read a stream to its end."""
    found: list[Frame] = []
    while True:
        page = await store.streams.read(execution_id, after, 1000)
        found += page.frames
        if not page.more:
            return found
        after = found[-1].id


async def said(store: Store, execution_id: str) -> list[tuple[int, int, str, str]]:
    """Return number, attempt, type and payload of every frame."""
    found = await read_all(store, execution_id)
    return [(frame.id, frame.attempt, frame.type, frame.text) for frame in found]
