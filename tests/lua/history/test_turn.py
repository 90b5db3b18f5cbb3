"""hf_history_turn: of all processes, one takes the sample of each 5 s."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock


async def test_one_process_takes_each_sample(store: Store, clock: Clock) -> None:
    """The next one when 5 s have passed."""
    assert await store.histories.turn()
    assert not await store.histories.turn()
    await clock.advance(5_000)
    assert await store.histories.turn()
    assert not await store.histories.turn()
