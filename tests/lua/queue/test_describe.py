"""hf_queue_describe."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.moments import from_ms
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import push, read_one, refused, settle


async def test_groups_and_pauses_are_shown(engine: Engine, clock: Clock) -> None:
    """Groups by name; the whole queue and single groups are paused apart."""
    await engine.queues.define("q", mode="fanout")
    for group in ("b", "a"):
        await engine.queues.add_group("q", group)
    await engine.queues.pause("q", "a")
    found = await engine.queues.describe("q")
    assert (found.groups, found.paused, found.paused_groups) == (("a", "b"), False, ("a",))
    assert found.created_at == from_ms(clock.now_ms)
    await engine.queues.pause("q")
    assert (await engine.queues.describe("q")).paused


async def test_the_last_drops_are_shown_with_their_reasons(engine: Engine, clock: Clock) -> None:
    """Without a dead-letter queue nothing is lost silently; a hundred are remembered."""
    await engine.queues.define("q", max_attempts=1)
    for n in range(102):
        await push(engine, b"1", id=f"m{n}")
        await settle(engine, "nack", await read_one(engine), reason=f"reason {n}")
    dropped = (await engine.queues.describe("q")).dropped
    assert [(letter.id, letter.reason) for letter in dropped[:1]] == [("m101", "reason 101")]
    assert len(dropped) == 100
    assert (dropped[0].group, dropped[0].attempts) == ("default", 1)
    assert dropped[0].last_at == from_ms(clock.now_ms)


async def test_an_unknown_queue_is_refused(engine: Engine, dump: Dump) -> None:
    """The error names it."""
    error = await refused(engine.queues.describe("nowhere"), "queue_not_found", dump)
    assert error.context == {"queue": "nowhere"}
