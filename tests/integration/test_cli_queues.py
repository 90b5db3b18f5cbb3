"""`holdfast queues` while queues change."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.cli.queues import _look
from holdfast.engine import Engine


async def test_a_queue_that_is_removed_meanwhile_is_not_listed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are listed, with their counts."""
    for name in ("a", "b", "c"):
        await engine.queues.define(name)
    listing = engine.queues.list

    async def list_and_remove(**page: Any) -> Any:
        queues = await listing(**page)
        await engine.queues.delete("b")
        return queues

    monkeypatch.setattr(engine.queues, "list", list_and_remove)
    assert [queue.name for queue, _ in await _look(engine)] == ["a", "c"]
