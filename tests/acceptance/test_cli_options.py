"""`holdfast submit` takes the options of a task from what its worker has published."""

from __future__ import annotations

from pathlib import Path

from holdfast import App
from holdfast.engine import open_engine
from tests.acceptance.test_cli import asked


async def test_the_options_of_a_task_hold_unless_others_are_given(tmp_path: Path) -> None:
    """Retries, priority, tags and capabilities are the author's, or the caller's."""
    app = App(f"embedded://{tmp_path}/.holdfast")

    @app.task(retries=2, priority=7, requires=["gpu"], tags={"team": "a"}, timeout=30)
    async def train() -> None: ...

    async with app.worker():
        pass
    plain = asked("submit", "train", folder=tmp_path)
    other = asked(
        *("submit", "train", "--priority", "1", "--retries", "0", "--requires", "cpu"),
        folder=tmp_path,
    )
    async with open_engine(app.store, maintenance=False) as engine:
        first, second = await engine.describe(plain["id"]), await engine.describe(other["id"])
        async with engine.claimer(worker="w", capabilities=["gpu"]) as claimer:
            (claim,) = await claimer.claim(1, 30_000)
    assert (first.priority, first.requires, first.tags) == (7, ("gpu",), {"team": "a"})
    assert claim.timeout_at is not None
    assert (second.priority, second.requires, second.tags) == (1, ("cpu",), {"team": "a"})
