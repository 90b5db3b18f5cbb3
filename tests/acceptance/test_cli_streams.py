"""`holdfast stream` and `holdfast schedules`, as a person uses them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.model.executions import Claim
from holdfast.model.frames import NewFrame
from tests.acceptance.test_cli import holdfast
from tests.support.scheduling import plan

FRAMES = [
    ("text", "Hello "),
    ("text", "world"),
    ("log", {"level": "info", "message": "a line"}),
    ("bytes", "AP8="),
    ("event", {"name": "done", "data": None}),
]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_engine(f"embedded://{tmp_path}/.holdfast") as engine:
        yield engine


async def start(engine: Engine) -> Claim:
    """Submit an execution and claim it."""
    await engine.submit("talk")
    async with engine.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000, 5_000)
    return claim


async def stream(engine: Engine, claim: Claim) -> None:
    """Stream one frame of each kind."""
    frames = [
        NewFrame.from_view(kind, payload, "base64" if kind == "bytes" else None)
        for kind, payload in FRAMES
    ]
    await engine.streams.append(claim.id, claim.lease, frames)


async def test_a_stream_is_shown_as_a_person_reads_it(engine: Engine, tmp_path: Path) -> None:
    """Text runs on, the rest is in lines, remarks are beside it."""
    claim = await start(engine)
    await stream(engine, claim)
    found = holdfast("stream", claim.id, folder=tmp_path)
    assert found.returncode == 0, found.stderr
    first, *rest = found.stdout.splitlines()
    assert first == "Hello world"
    assert [line.split("  ", 1)[1] for line in rest] == [
        "log     info: a line",
        "bytes   2 bytes",
        'event   {"name":"done","data":null}',
    ]


async def test_a_stream_is_followed_to_its_end(engine: Engine, tmp_path: Path) -> None:
    """Each frame is an object on a line, the last says how it ended."""
    claim = await start(engine)
    await stream(engine, claim)
    await engine.complete(claim.id, claim.lease)
    found = holdfast("stream", claim.id, "-f", "--after", "1", "--json", folder=tmp_path)
    assert found.returncode == 0, found.stderr
    lines: list[dict[str, Any]] = [json.loads(line) for line in found.stdout.splitlines()]
    assert [(line["type"], line["payload"]) for line in lines] == [
        *FRAMES[1:],
        ("end", {"state": "completed"}),
    ]
    plain = holdfast("stream", claim.id, "--follow", folder=tmp_path)
    assert plain.stdout.startswith("Hello world\n")
    assert plain.stderr == "ended: completed\n"


async def test_an_unknown_stream_is_not_found(engine: Engine, tmp_path: Path) -> None:
    """With the exit code of what is not there."""
    assert holdfast("stream", "nobody", "-f", folder=tmp_path).returncode == 3


def schedules(folder: Path, *args: str) -> str:
    """Run a command that must succeed; returns what it prints."""
    found = holdfast("schedules", *args, folder=folder)
    assert found.returncode == 0, found.stderr
    return found.stdout


async def test_a_schedule_is_created_and_shown(engine: Engine, tmp_path: Path) -> None:
    """In words and as JSON."""
    made = schedules(
        tmp_path,
        *("create", "nightly", "cleanup", "--cron", "30 2 * * *"),
        *("--timezone", "Europe/Berlin", "-i", '{"n": 1}'),
    )
    assert made.startswith("schedule nightly is active, fires")
    assert "30 2 * * * Europe/Berlin" in schedules(tmp_path)
    shown = json.loads(schedules(tmp_path, "show", "nightly", "--json"))
    assert shown["execution"]["input"] == {"n": 1}
    assert (shown["cron"], shown["overlap"]) == ("30 2 * * *", "allow")
    times = json.loads(schedules(tmp_path, "next", "nightly", "-n", "3", "--json"))["items"]
    assert len(times) == 3
    assert times[0] == shown["next_at"]
    assert "30 2 * * * Europe/Berlin" in schedules(tmp_path, "show", "nightly")


async def test_a_schedule_is_operated(engine: Engine, tmp_path: Path) -> None:
    """Paused, resumed, triggered, deleted."""
    await engine.schedules.create(plan("nightly"))
    assert schedules(tmp_path, "pause", "nightly") == "schedule nightly is paused\n"
    assert schedules(tmp_path, "resume", "nightly").startswith("schedule nightly is active")
    first = schedules(tmp_path, "trigger", "nightly", "--key", "k").strip()
    assert (await engine.describe(first)).tags == {"schedule": "nightly"}
    assert (await engine.schedules.trigger("nightly", key="k")).id == first
    assert schedules(tmp_path, "delete", "nightly") == "schedule nightly is deleted\n"
    assert (await engine.schedules.list()).items == ()


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("show", "nobody"), 3, "schedule_not_found"),
        (("create", "s", "k"), 2, "exactly one of"),
        (("create", "s", "k", "--cron", "x"), 2, "five fields"),
        (("create", "s", "k", "--every", "1h", "--overlap", "maybe"), 2, "overlap"),
    ],
)
async def test_mistakes_are_told_in_a_line(
    engine: Engine, tmp_path: Path, args: tuple[str, ...], code: int, told: str
) -> None:
    """With the exit code of their kind."""
    found = holdfast("schedules", *args, folder=tmp_path)
    assert (found.returncode, found.stdout) == (code, "")
    (line,) = found.stderr.splitlines()
    assert told in line
