"""A store as of a time, from its append-only files."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.backup import restore_at
from holdfast.engine import Engine, open_engine
from holdfast.errors import ExecutionNotFound, InvalidRecord, StoreIncompatible, StoreUnavailable
from holdfast.model.states import State
from holdfast.operate.verify import verify
from holdfast.store.valkey import aof
from holdfast.testing.polling import wait_for


async def next_second() -> datetime:
    """Wait until what comes now has another time than what was; returns the time of that."""
    began = int(time.time())

    async def passed() -> bool:
        return time.time() >= began + 1

    await wait_for(passed)
    return datetime.fromtimestamp(began, UTC)


async def finish(engine: Engine, execution: str) -> None:
    """Claim and complete an execution."""
    async with engine.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 60_000, wait_ms=30_000)
        assert claim.id == execution
        await engine.complete(claim.id, claim.lease, b'"done"')


async def test_a_store_goes_back_to_a_time(tmp_path: Path) -> None:
    """With what was there, without what came later, and it goes on; also across a rewrite."""
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    before = await next_second()
    async with open_engine(f"embedded://{one}", maintenance=False) as engine:
        await engine.submit("work", id="early", input=b"1")
        at = await next_second()
        await finish(engine, "early")
        await engine.submit("work", id="late")
        await next_second()
        moment = restore_at(one, two, at)
        assert (moment.at, moment.last_at) == (at, at)
        with pytest.raises(StoreIncompatible, match="has a store"):
            restore_at(one, two, at)
        with pytest.raises(StoreIncompatible, match="to come"):
            restore_at(one, three, datetime.now(UTC) + timedelta(hours=1))
        with pytest.raises(InvalidRecord, match="begins at"):
            restore_at(one, three, before - timedelta(seconds=5))
        assert not (three / "appendonlydir").exists()
        await _check(two)
        await engine.store.client.call(["BGREWRITEAOF"])
        await wait_for(lambda: _is_rewritten(one))
        later = await next_second()
        await engine.submit("work", id="last")
        four = tmp_path / "four"
        restore_at(one / "appendonlydir", four, later)
        with pytest.raises(InvalidRecord, match="begins at"):
            restore_at(one, tmp_path / "five", at)
    async with open_engine(f"embedded://{four}", maintenance=False) as engine:
        assert (await engine.describe("early")).state is State.COMPLETED
        with pytest.raises(ExecutionNotFound):
            await engine.describe("last")


async def _is_rewritten(folder: Path) -> bool:
    text = (folder / "appendonlydir" / "appendonly.aof.manifest").read_text()
    return "seq 2 type b" in text and "type h" not in text


async def _check(folder: Path) -> None:
    async with open_engine(f"embedded://{folder}", maintenance=False) as engine:
        assert (await engine.describe("early")).state is State.WAITING
        with pytest.raises(ExecutionNotFound):
            await engine.describe("late")
        assert not (await verify(engine.store)).left
        await finish(engine, "early")
        assert not (await verify(engine.store)).left


def test_folders_that_cannot_be_used_are_clear_errors(tmp_path: Path) -> None:
    """Of the source and of the target; no traceback."""
    now = datetime.now(UTC)
    (tmp_path / "file").write_text("")
    source = tmp_path / "source"
    source.mkdir()
    (source / aof.MANIFEST).write_text("file appendonly.aof.1 seq 1 type i\n")
    with pytest.raises(StoreUnavailable, match="cannot use the data folder"):
        restore_at(source, tmp_path / "file" / "below", now)
    for source in (tmp_path / "file", tmp_path / ("long" * 100)):
        with pytest.raises(InvalidRecord, match="has no append-only files"):
            restore_at(source, tmp_path / "new", now)
    assert not (tmp_path / "new").exists()
