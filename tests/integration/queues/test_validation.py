"""Bad input at every entry of queues: InvalidInput that names the field, nothing written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.errors import InvalidInput, TooLarge
from holdfast.model.deliveries import Settle
from holdfast.model.messages import LetterFilter, NewMessage, Start
from holdfast.model.queues import QueueSettings
from tests.support.lifecycle import Dump

Call = Callable[[Engine], Awaitable[object]]

BAD_NAMES: list[Any] = ["", "a b", "a|b", "a{b}", "a/b", "x" * 129, 5, None]
BAD_QUEUES: list[Any] = [*(name for name in BAD_NAMES if name != "a/b"), "a/b/c", "default/a"]
BAD_COUNTS: list[Any] = [0, -1, 1001, 1.5, True, "1"]
BAD_TIMES: list[Any] = [-1, 1.5, True, "5", 10**15]

CASES: list[tuple[str, Call]] = []


def _add(field: str, values: list[Any], make: Callable[[Engine, Any], Any]) -> None:
    for value in values:

        def call(engine: Engine, value: Any = value) -> Any:
            return make(engine, value)

        CASES.append((field, call))


for _make in (
    lambda e, v: e.queues.define(v),
    lambda e, v: e.queues.describe(v),
    lambda e, v: e.queues.delete(v),
    lambda e, v: e.queues.purge(v),
    lambda e, v: e.queues.push(v, b"1"),
    lambda e, v: e.queues.read(v, consumer="c"),
    lambda e, v: e.queues.settle(v, "ack", []),
    lambda e, v: e.queues.stats(v),
    lambda e, v: e.queues.peek(v),
    lambda e, v: e.queues.pending(v),
    lambda e, v: e.queues.claim(v, consumer="c", min_idle_ms=0),
    lambda e, v: e.queues.extend(v, []),
    lambda e, v: e.queues.redrive(v),
):
    _add("queue", BAD_QUEUES, _make)
_add("group", BAD_NAMES[:-1], lambda e, v: e.queues.read("q", consumer="c", group=v))
_add("group", BAD_NAMES, lambda e, v: e.queues.add_group("q", v))
_add("consumer", BAD_NAMES, lambda e, v: e.queues.read("q", consumer=v))
_add("consumer", BAD_NAMES, lambda e, v: e.queues.claim("q", consumer=v, min_idle_ms=0))
_add("count", BAD_COUNTS, lambda e, v: e.queues.read("q", consumer="c", count=v))
_add("count", BAD_COUNTS, lambda e, v: e.queues.peek("q", count=v))
_add("side", ["up", "", None, 1], lambda e, v: e.queues.read("q", consumer="c", side=v))
_add("wait_ms", BAD_TIMES, lambda e, v: e.queues.read("q", consumer="c", wait_ms=v))
_add("delay_ms", BAD_TIMES, lambda e, v: e.queues.push("q", b"1", delay_ms=v))
_add("delay_ms", BAD_TIMES, lambda e, v: e.queues.nack("q", "h", delay_ms=v))
_add("ttl_ms", [0, *BAD_TIMES], lambda e, v: e.queues.push("q", b"1", ttl_ms=v))
_add("priority", [1001, -1001, 1.5, "1"], lambda e, v: e.queues.push("q", b"1", priority=v))
_add("key", ["", "x" * 257, "a\nb", 5], lambda e, v: e.queues.push("q", b"1", key=v))
_add("dedup", ["", "x" * 257, "a\nb", 5], lambda e, v: e.queues.push("q", b"1", dedup=v))
_add("id", ["", "a b", "x" * 257, 5], lambda e, v: e.queues.push("q", b"1", id=v))
_add("side", ["up", "", 1], lambda e, v: e.queues.push("q", b"1", side=v))
_add("payload", ["text", None, 5], lambda e, v: e.queues.push("q", v))
_add("message.colour", [1], lambda e, v: e.queues.push("q", b"1", colour=v))
_add("handle", ["", "x" * 257, "a\nb", 5, None], lambda e, v: e.queues.ack("q", v))
_add("reason", ["x" * 1025, "a\nb", 5], lambda e, v: e.queues.reject("q", "h", v))
_add("extend_ms", [0, *BAD_TIMES], lambda e, v: e.queues.extend("q", [("h", v)]))
_add("min_idle_ms", BAD_TIMES, lambda e, v: e.queues.claim("q", consumer="c", min_idle_ms=v))
_add("verb", ["", "eat", None], lambda e, v: e.queues.settle("q", v, []))
_add("limit", [0, -1, 1.5, "1"], lambda e, v: e.queues.move("q", "other", v))
_add("limit", [0, -1, 1.5, "1"], lambda e, v: e.queues.redrive("q", limit=v))
_add("rate_per_s", [0, -1, "1"], lambda e, v: e.queues.redrive("q", rate_per_s=v))
_add(
    "filter.origin",
    [name for name in BAD_QUEUES if name is not None],
    lambda e, v: e.queues.redrive("q", wanted=_letters(v)),
)
_add("mode", ["", "topic", 5], lambda e, v: e.queues.define("q", mode=v))
_add("max_attempts", [0, -1, 10_001, 1.5], lambda e, v: e.queues.define("q", max_attempts=v))
_add("lock_ms", [0, 10**9, 1.5], lambda e, v: e.queues.define("q", lock_ms=v))
_add("backoff", ["1", 5, [1] * 33], lambda e, v: e.queues.define("q", backoff=v))
_add("backoff[0]", [[-1], ["1"]], lambda e, v: e.queues.define("q", backoff=v))
_add("retry_delay_ms", [-1, "1"], lambda e, v: e.queues.define("q", retry_delay_ms=v))
_add("dedup_window_ms", BAD_TIMES, lambda e, v: e.queues.define("q", dedup_window_ms=v))
_add("max_size", [0, -1, 1.5], lambda e, v: e.queues.define("q", max_size=v))
_add("max_in_flight", [0, -1, 1.5], lambda e, v: e.queues.define("q", max_in_flight=v))
_add("priority", [1, "yes"], lambda e, v: e.queues.define("q", priority=v))
_add("queue.colour", [1], lambda e, v: e.queues.define("q", colour=v))


def _letters(origin: Any) -> LetterFilter:
    return LetterFilter(origin=origin)


@pytest.mark.parametrize(("field", "call"), CASES)
async def test_bad_input_is_refused_and_changes_nothing(
    single_store: Any, field: str, call: Call
) -> None:
    """The error names the field; nothing was sent."""
    engine = Engine(single_store)
    with pytest.raises(InvalidInput) as caught:
        await call(engine)
    assert caught.value.context["field"] == field


async def test_an_oversize_payload_is_too_large(engine: Engine, dump: Dump) -> None:
    """A megabyte fits, a byte more does not; a batch with one is refused as a whole."""
    await engine.queues.define("q")
    before = dump()
    with pytest.raises(TooLarge):
        await engine.queues.push("q", b"x" * ((1 << 20) + 1))
    with pytest.raises(InvalidInput):
        await engine.queues.push_many("q", [NewMessage(payload=b"1")] * 1_001)
    assert dump() == before
    await engine.queues.push("q", b"x" * (1 << 20))


def test_values_are_checked_when_they_are_made() -> None:
    """Starts, settlements and definitions that contradict themselves."""
    for wrong in (
        lambda: Start(place="after"),
        lambda: Start(place="first", after="x"),
        lambda: Start(place="at", at=datetime(2026, 1, 1)),  # noqa: DTZ001
        lambda: Settle(handle=""),
        lambda: QueueSettings.from_fields({"retry_delay_ms": 5, "backoff": [1]}),
    ):
        with pytest.raises(InvalidInput):
            wrong()
    assert QueueSettings.from_fields({"retry_delay_ms": 5}).backoff == (5,)
