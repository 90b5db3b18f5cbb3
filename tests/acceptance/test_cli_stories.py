"""What the command line tells of tasks that fail, have children, and write logs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.test_cli import asked, background, done, holdfast, write_shop

STORIES = """
from holdfast import App, Context

app = App()


def pack(number: int) -> int:
    if number < 0:
        raise ValueError(f"there is no shelf {number}")
    return number


@app.task(name="shelf.fetch")
async def fetch(ctx: Context, number: int) -> int:
    return await ctx.step("pack", pack, number)


@app.task(name="order.collect")
async def collect(ctx: Context, numbers: list[int]) -> int:
    ctx.logger.info("collecting %d numbers", len(numbers))
    children = [await ctx.submit(fetch, number) for number in numbers]
    return sum([await ctx.result(child) for child in children])
"""


@pytest.fixture
async def stories(tmp_path: Path) -> AsyncIterator[Path]:
    """A folder in which a worker runs."""
    write_shop(tmp_path, STORIES)
    with background(["worker", "shop:app"], tmp_path) as worker:
        await worker.wait_for_text("holdfast is running shop:app")
        yield tmp_path


async def test_a_failure_is_shown_with_the_frames_of_its_author(stories: Path) -> None:
    """The traceback leads to the line of the task, and to nothing of Holdfast's."""
    failed = asked("submit", "shelf.fetch", "-i", '{"number": -1}', folder=stories)["id"]
    assert holdfast("result", failed, "--wait", "10", folder=stories).returncode == 1
    shown = done("show", failed, folder=stories)
    _, _, trace = shown.partition("\nTraceback\n")
    trace, _, _ = trace.partition("\n\n")
    assert "shop.py" in trace
    assert "in pack" in trace
    assert trace.endswith("ValueError: there is no shelf -1")
    assert "holdfast/" not in trace
    log = (stories / "worker.log").read_text()
    assert f"[{failed} shelf.fetch #1] attempt failed: ValueError: there is no shelf -1" in log
    assert "in pack" in log


async def test_parents_and_children_name_each_other(stories: Path) -> None:
    """In `show`, in its JSON, and in a list."""
    parent = asked("submit", "order.collect", "-i", '{"numbers": [1, 2]}', folder=stories)["id"]
    assert done("result", parent, "--wait", "10", folder=stories) == "3\n"
    children = [f"{parent}~0.{number}" for number in (1, 2)]
    shown = done("show", parent, folder=stories)
    _, _, table = shown.partition("\nChildren\n")
    assert [line.split()[:3] for line in table.splitlines()[2:4]] == [
        [child, "shelf.fetch", "completed"] for child in children
    ]
    assert f"parent      {parent}" in done("show", children[0], folder=stories)
    assert asked("show", children[0], folder=stories)["execution"]["parent"] == parent
    listed = asked("ls", "--parent", parent, folder=stories)["items"]
    assert [one["id"] for one in listed] == children[::-1]
    events = done("history", parent, folder=stories).splitlines()
    assert [line.split()[2] for line in events] == ["created", "claimed", "completed"]
    (line,) = done("logs", parent, "-f", folder=stories).splitlines()
    assert line.split()[2:] == ["info", "#1", "collecting", "2", "numbers"]
    assert done("logs", parent, "--level", "warning", folder=stories) == ""
    assert asked("logs", parent, folder=stories)["message"] == "collecting 2 numbers"
    assert {one["id"] for one in asked("show", parent, folder=stories)["children"]} == {*children}


async def test_all_that_failed_are_replayed_by_a_filter(stories: Path) -> None:
    """A dry run says which; steps that are kept are not run again."""
    for number in (-1, -2):
        given = f'{{"number": {number}}}'
        failed = asked("submit", "shelf.fetch", "-i", given, folder=stories)["id"]
        assert holdfast("result", failed, "--wait", "10", folder=stories).returncode == 1
    filters = ("--state", "failed", "--kind", "shelf.fetch", "--error", "ValueError")
    planned = asked("replay", *filters, "--dry-run", folder=stories)
    assert (planned["dry_run"], len(planned["replayed"]), planned["refused"]) == (True, 2, [])
    assert asked("ls", "--state", "failed", folder=stories)["items"][0]["replays"] == 0
    assert asked("replay", "--failed", "--error", "KeyError", folder=stories)["replayed"] == []
    shown = done("replay", *filters, "--keep-steps", "--reason", "again", folder=stories)
    assert shown.endswith("2 executions replayed\n")
    assert holdfast("result", failed, "--wait", "10", folder=stories).returncode == 1
    assert asked("show", failed, folder=stories)["execution"]["replays"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ("replay",),
        ("replay", "x", "--failed"),
        ("replay", "x", "--dry-run"),
        ("replay", "x", "--kind", "k"),
        ("resume",),
        ("resume", "x", "--mismatched"),
        ("resume", "x", "--since", "1h"),
    ],
)
def test_replay_and_resume_take_an_id_or_a_filter(wrong: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing is changed by mistake."""
    assert holdfast(*wrong, folder=tmp_path).returncode == 2
