"""hf_queue_define."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.errors import HoldfastError, InvalidDeadLetter, QueueConflict
from holdfast.model.queues import QueueSettings
from holdfast.store.store import Store
from tests.support.lifecycle import Dump
from tests.support.queues import counts, push, refused


async def test_a_definition_is_kept_as_given(engine: Engine) -> None:
    """Every setting comes back."""
    settings = QueueSettings(
        mode="work",
        max_attempts=7,
        lock_ms=5_000,
        dead_letter="dead",
        backoff=(100, 1_000),
        dedup_window_ms=0,
        ttl_ms=60_000,
        max_size=10,
        priority=True,
        ageing_ms=1_000,
        max_in_flight=5,
        max_in_flight_per_consumer=2,
    )
    assert await engine.queues.define("q", settings) is True
    found = await engine.queues.describe("q")
    assert (found.name, found.settings, found.groups) == ("q", settings, ("default",))


async def test_a_change_keeps_messages_and_removes_what_is_absent(engine: Engine) -> None:
    """Settings are replaced as a whole; messages stay."""
    await engine.queues.define("q", max_size=10, ttl_ms=1_000)
    await push(engine, b"1")
    assert await engine.queues.define("q", max_attempts=9) is False
    assert (await engine.queues.describe("q")).settings == QueueSettings(max_attempts=9)
    assert await counts(engine) == {"ready": 1}


async def test_the_mode_never_changes(engine: Engine, dump: Dump) -> None:
    """In-flight deliveries of one mode would be settled under the other."""
    await engine.queues.define("q")
    await refused(engine.queues.define("q", mode="fanout"), QueueConflict.code, dump)


async def test_a_dead_letter_queue_is_made_and_marked(engine: Engine) -> None:
    """Naming it is enough; one that exists keeps its settings."""
    await engine.queues.define("own", max_attempts=5)
    await engine.queues.define("a", dead_letter="own")
    await engine.queues.define("b", dead_letter="fresh")
    for name, attempts in (("own", 5), ("fresh", 3)):
        found = await engine.queues.describe(name)
        assert found.takes_dead_letters
        assert found.settings.max_attempts == attempts


@pytest.mark.parametrize("chain", ["itself", "circle", "chain", "fanout"])
async def test_dead_letters_go_no_further(engine: Engine, chain: str) -> None:
    """A dead-letter queue has none itself, and is a WORK queue."""
    await engine.queues.define("a", dead_letter="b")
    await engine.queues.define("fan", mode="fanout")
    wrong = {
        "itself": engine.queues.define("x", dead_letter="x"),
        "circle": engine.queues.define("b", dead_letter="a"),
        "chain": engine.queues.define("x", dead_letter="a"),
        "fanout": engine.queues.define("x", dead_letter="fan"),
    }
    call = wrong.pop(chain)
    for other in wrong.values():
        other.close()
    with pytest.raises(HoldfastError) as caught:
        await call
    assert caught.value.code == InvalidDeadLetter.code


async def test_a_repeated_call_gets_its_first_answer(store: Store, engine: Engine) -> None:
    """The secret of the call tells that the queue is its own work."""
    await engine.queues.define("warm-up")
    args = ("secret", "", "mode", "work", "max_attempts", "3", "lock", "1000", "dead_letter", "")
    tag = store.queue_tag("q")
    for _ in range(2):
        assert await store.caller.write("hf_queue_define", tag, *args) == [b"created"]
