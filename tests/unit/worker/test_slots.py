"""The slots of a worker."""

from __future__ import annotations

import asyncio

from holdfast.worker.slots import Slots


async def test_taken_slots_come_back() -> None:
    """Busy and free always add up."""
    slots = Slots(3)
    slots.take(2)
    assert (slots.free, slots.busy) == (1, 2)
    slots.give_back()
    assert (slots.free, slots.busy) == (2, 1)


async def test_waiting_ends_when_a_slot_comes_back() -> None:
    """Not before."""
    slots = Slots(1)
    await slots.wait_free()
    slots.take(1)
    waiting = asyncio.ensure_future(slots.wait_free())
    await asyncio.sleep(0)
    assert not waiting.done()
    slots.give_back()
    async with asyncio.timeout(1):
        await waiting


async def test_a_lent_slot_is_free_for_others_and_taken_back() -> None:
    """Who waits for a child does not keep the child from running."""
    slots = Slots(1)
    slots.take(1)
    slots.give_back()
    assert slots.free == 1
    slots.take(1)
    slots.take(1)
    assert slots.free == -1
    slots.give_back()
    waiting = asyncio.ensure_future(slots.wait_free())
    await asyncio.sleep(0)
    assert not waiting.done()
    slots.give_back()
    async with asyncio.timeout(1):
        await waiting
    assert slots.free == 1


async def test_the_slot_of_an_outcome_is_free_while_it_is_recorded() -> None:
    """The next execution need not wait for the store."""
    slots = Slots(1)
    slots.take(1)
    assert slots.settle()
    assert slots.free == 1
    slots.settled()
    assert slots.free == 0
    slots.give_back()
    assert slots.free == 1


async def test_outcomes_on_their_way_are_bounded() -> None:
    """If the store is slow, executions do not pile up."""
    slots = Slots(1)
    slots.take(1)
    assert slots.settle()
    slots.take(1)
    assert not slots.settle()
    assert slots.free == 0
    slots.settled()
    slots.give_back()
    assert slots.settle()
