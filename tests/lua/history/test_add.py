"""hf_history_add: rows of 5 s and of 5 min, of levels and of growth; what is old goes."""

from __future__ import annotations

from holdfast.model.history import HistoryQuery
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump

LANE = "lane|acme|bulk"
STEP = 5_000


async def _figure(store: Store, name: str, *, span: str = "hour") -> list[int]:
    query = HistoryQuery.checked("lane", span, tenant="acme", name="bulk", points=2_016)
    (history,) = await store.histories.read(query)
    return [value for value in history.figures[name] if value]


async def test_levels_are_kept_and_counts_are_what_was_added(store: Store, clock: Clock) -> None:
    """The first sample only remembers the counts; one that shrinks counts as nothing."""
    for waiting, total in ((7, 100), (3, 130), (5, 120), (1, 121)):
        assert await store.histories.add({LANE: (waiting, 0, 0, total, 0, 0)}) == 1
        await clock.advance(STEP)
    assert await _figure(store, "waiting") == [7, 3, 5, 1]
    assert await _figure(store, "submitted") == [30, 1]
    assert sum(await _figure(store, "submitted", span="week")) == 31
    assert max(await _figure(store, "waiting", span="week")) == 7


async def test_two_samples_of_one_moment_are_one_row(store: Store) -> None:
    """It has the highest level and the whole growth."""
    for waiting, total in ((2, 10), (9, 11), (4, 15)):
        await store.histories.add({LANE: (waiting, 0, 0, total, 0, 0)})
    assert await _figure(store, "waiting") == [9]
    assert await _figure(store, "submitted") == [5]


async def test_an_hour_and_no_more_is_kept(store: Store, clock: Clock, dump: Dump) -> None:
    """720 rows; the week has them together."""
    for _ in range(725):
        await store.histories.add({LANE: (1, 0, 0, 0, 0, 0)})
        await clock.advance(STEP)
    lists = [rows for key, rows in dump().items() if ":history:" in key]
    assert sorted(len(rows) for rows in lists if isinstance(rows, list)) == [13, 720]


async def test_a_series_without_samples_expires(store: Store, dump: Dump) -> None:
    """After an hour, and after a week."""
    await store.histories.add({LANE: (1, 0, 0, 0, 0, 0)})
    names = sorted(key for key in dump() if ":history:" in key)
    spans = [await store.client.call(["PTTL", name]) for name in names]
    assert [round(span / 3_600_000) for span in spans if span > 0] == [1, 168]


async def test_a_series_may_miss_a_sample(store: Store, clock: Clock) -> None:
    """The next one has all that was added since."""
    await store.histories.add({LANE: (0, 0, 0, 100, 0, 0)})
    await clock.advance(STEP)
    await store.histories.add({"lane|acme|other": (0, 0, 0, 0, 0, 0)})
    await clock.advance(STEP)
    await store.histories.add({LANE: (0, 0, 0, 130, 0, 0)})
    assert await _figure(store, "submitted") == [30]


async def test_a_series_of_which_nothing_is_kept_starts_again(store: Store, clock: Clock) -> None:
    """Its counts are forgotten with its last row."""
    await store.histories.add({LANE: (0, 0, 0, 100, 0, 0)})
    for span in ("hour", "week"):
        await store.client.call(["DEL", f"{store.global_tag}:history:{span}|{LANE}"])
    await store.histories.add({"lane|acme|other": (0, 0, 0, 0, 0, 0)})
    await clock.advance(STEP)
    await store.histories.add({LANE: (0, 0, 0, 130, 0, 0)})
    assert await _figure(store, "submitted") == []
