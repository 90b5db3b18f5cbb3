"""Resources: opened once, closed last first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from holdfast.worker.resources import Resource, Resources, use


class Log(list[str]):
    """What happened, and factories that tell."""

    async def pool(self) -> AsyncIterator[str]:
        """Open and close asynchronously."""
        self.append("open pool")
        try:
            yield "pool"
        finally:
            self.append("close pool")

    def file(self) -> Iterator[str]:
        """Open and close."""
        self.append("open file")
        yield "file"
        self.append("close file")

    def number(self) -> int:
        """Return something that needs no closing."""
        self.append("make number")
        return 7

    async def token(self) -> str:
        """Return something that takes a while."""
        await asyncio.sleep(0)
        self.append("fetch token")
        return "token"


async def test_all_kinds_of_factories_give_their_value() -> None:
    """Async generator, generator, function, coroutine function."""
    log, resources = Log(), Resources()
    factories = (log.pool, log.file, log.number, log.token)
    values = [await resources.open(use(factory)) for factory in factories]
    assert values == ["pool", "file", 7, "token"]
    await resources.close()


async def test_a_resource_is_opened_once_and_closed_last_first() -> None:
    """However many tasks use it."""
    log, resources = Log(), Resources()
    for _ in range(3):
        assert await resources.open(Resource(log.pool)) == "pool"
        assert await resources.open(Resource(log.file)) == "file"
    assert log == ["open pool", "open file"]
    await resources.close()
    assert log == ["open pool", "open file", "close file", "close pool"]


async def test_tasks_that_start_together_share_one_resource() -> None:
    """The second waits for the first to open it."""
    log, resources = Log(), Resources()
    values = await asyncio.gather(*(resources.open(use(log.token)) for _ in range(5)))
    assert values == ["token"] * 5
    assert log == ["fetch token"]


async def test_a_resource_that_failed_to_open_is_tried_again() -> None:
    """The database may be up by then."""
    tries: list[int] = []

    async def database() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("down")
        return "up"

    resources = Resources()
    with pytest.raises(ConnectionError, match="down"):
        await resources.open(use(database))
    assert await resources.open(use(database)) == "up"


async def test_one_that_cannot_close_does_not_keep_the_others_open() -> None:
    """The error is raised after all were closed."""
    log, resources = Log(), Resources()

    def broken() -> Iterator[None]:
        yield
        raise OSError("cannot close")

    await resources.open(use(log.pool))
    await resources.open(use(broken))
    with pytest.raises(OSError, match="cannot close"):
        await resources.close()
    assert log == ["open pool", "close pool"]


async def test_nothing_opened_means_nothing_closed() -> None:
    """A worker may never use them."""
    await Resources().close()
