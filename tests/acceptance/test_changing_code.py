"""Deployments of changed code while executions run, with workers that are killed."""

from __future__ import annotations

import signal
from functools import partial
from itertools import product
from pathlib import Path

import msgspec
import pytest

from holdfast.engine import Engine, open_engine
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity
from holdfast.testing.polling import wait_for
from tests.acceptance.test_cli import asked, background, done, write_shop

APP = """
import pathlib
import time

from holdfast import App, Context

app = App()


def note(what: str) -> None:
    with open("effects", "a") as effects:
        print(what, file=effects)
    while what == "pack" and not pathlib.Path("open").exists():
        time.sleep(0.01)


@app.task(name="order")
async def order(ctx: Context, number: int) -> int:
    {check}
    await ctx.step("charge", note, "charge")
    await ctx.step("pack", note, "pack")
    return number
"""
CHECK = 'await ctx.step("check", note, "check")'
VERSIONS = (
    APP.format(check=""),
    APP.format(check=CHECK),
    APP.format(check=f'if await ctx.version("check", 2) >= 2:\n        {CHECK}'),
)
WORKER = ["worker", "shop:app", "--lease", "1s"]


@pytest.mark.timeout(120)
async def test_an_execution_survives_a_bad_deployment_and_killed_workers(tmp_path: Path) -> None:
    """It waits for code that fits, says so, and continues; the card is charged once."""
    write_shop(tmp_path, VERSIONS[0])
    with background(WORKER, tmp_path) as worker:
        old = asked("submit", "order", "-i", '{"number": 1}', folder=tmp_path)["id"]
        await worker.wait_for_text("holdfast is running shop:app")
        await _effects(tmp_path, ["charge", "pack"])
        worker.end(signal.SIGKILL)

    write_shop(tmp_path, VERSIONS[1])
    with background(WORKER, tmp_path) as worker:
        await worker.wait_for_text("suspended: execution")
        why = done("explain", old, folder=tmp_path)
        assert "Was step 'check' added before 'charge'" in why
        assert f"then run `holdfast resume {old}`" in why
        assert "waits for code that fits" in done("ls", folder=tmp_path)
        worker.end(signal.SIGKILL)

    write_shop(tmp_path, VERSIONS[2])
    (tmp_path / "open").touch()
    with background(WORKER, tmp_path) as worker:
        await worker.wait_for_text("holdfast is running shop:app")
        filters = ("--mismatched", "--kind", "order", "--since", "1h")
        planned = asked("resume", *filters, "--dry-run", folder=tmp_path)
        assert planned == {"dry_run": True, "resumed": [old], "refused": []}
        assert done("resume", *filters, folder=tmp_path).endswith("1 execution resumed\n")
        assert done("result", old, "--wait", "20", folder=tmp_path) == "1\n"
        new = asked("submit", "order", "-i", '{"number": 2}', folder=tmp_path)["id"]
        assert done("result", new, "--wait", "20", folder=tmp_path) == "2\n"
    # The first worker died while it packed.
    effects = (tmp_path / "effects").read_text().split()
    assert effects == ["charge", "pack", "pack", "check", "charge", "pack"]
    kept = {step["name"] for step in asked("show", old, folder=tmp_path)["steps"]}
    assert kept == {"charge", "pack", "version:check"}


async def _effects(folder: Path, expected: list[str]) -> None:
    async def reached() -> bool:
        file = folder / "effects"
        return file.exists() and file.read_text().split() == expected

    await wait_for(reached, timeout_s=20)


LONG_APP = """
import asyncio

from holdfast import App, Chat, Context

app = App()
VERSION = {version}


def note(file: str, what: str) -> None:
    with open(file, "a") as notes:
        print(what, file=notes)


class Run:
    # The name of a run says after how many of its steps an attempt of a version hangs.
    def __init__(self, ctx: Context, name: str, ask) -> None:
        self.ctx, self.name, self.ask, self.version = ctx, name, ask, ctx.version
        self.left = dict(zip((1, 2), map(int, name[1:].split(".")))).get(VERSION, 99)

    async def step(self, what: str | None) -> None:
        if what is not None:
            await self.ctx.step(what, note, "effects", f"{{self.name}} {{what}}")
            self.left -= 1
        if self.left == 0:
            note("hanging", f"{{VERSION}} {{self.name}}")
            await asyncio.Event().wait()


async def first(run: Run) -> None:
    await run.step("charge")
    await run.ask("Day?")
    await run.step("pack")
    await run.ask("Name?")
    await run.step("mail")


# A step is added before others and one after them, and one is renamed.
async def second(run: Run) -> None:
    if await run.version("check", 2) >= 2:
        await run.step("check")
    await run.step("charge")
    await run.ask("Day?")
    await run.step("wrap" if await run.version("wrapping", 2) >= 2 else "pack")
    await run.ask("Name?")
    await run.step("mail")
    await run.step("archive")


# The order of two steps is changed, and one is removed.
async def third(run: Run) -> None:
    if await run.version("check", 2) >= 2:
        await run.step("check")
    await run.step("charge")
    await run.ask("Day?")
    wrapping = await run.version("wrapping", 3)
    if wrapping >= 3:
        await run.step("archive")
        await run.step("wrap")
        await run.ask("Name?")
        return
    await run.step("wrap" if wrapping == 2 else "pack")
    await run.ask("Name?")
    await run.step("mail")
    await run.step("archive")


async def go(run: Run) -> None:
    await run.step(None)
    await (first, second, third)[VERSION - 1](run)


@app.task(name="order")
async def order(ctx: Context, name: str) -> str:
    async def ask(question: str) -> None:
        pass

    await go(Run(ctx, name, ask))
    return name


@app.conversation(name="booking")
async def booking(chat: Chat) -> None:
    answers = []

    async def ask(question: str) -> None:
        answers.append((await chat.ask(question)).value)

    await chat.say("Hello.")
    await go(Run(chat, chat.user, ask))
    await chat.say(" ".join(answers))
"""


@pytest.mark.timeout(240)
async def test_tasks_and_conversations_live_through_three_versions(tmp_path: Path) -> None:
    """Workers are killed after any step of two versions; nothing fails, and no step runs twice.

    The lease is long enough for a busy machine: executions that lose many leases have to wait.
    """
    pairs = [f"{one}.{two}" for one, two in product(range(4), range(6))]
    names = [f"{kind}{pair}" for kind, pair in product("tc", pairs)]
    async with open_engine(f"embedded://{tmp_path / '.holdfast'}") as engine:
        for version in (1, 2, 3):
            write_shop(tmp_path, LONG_APP.format(version=version))
            with background([*WORKER[:-1], "3s"], tmp_path) as worker:
                if version == 1:
                    await worker.wait_for_text("holdfast is running shop:app")
                    await _begin(engine, pairs)
                rest = partial(_all_rest, engine, tmp_path, version, names)
                try:
                    await wait_for(rest, timeout_s=60)
                except TimeoutError:
                    moving = await _moving(engine, tmp_path, version, names)
                    pytest.fail(f"{moving}: {moving and await engine.history(moving)}")
                worker.end(signal.SIGKILL)
        effects = [line.split() for line in (tmp_path / "effects").read_text().splitlines()]
        for name in names:
            steps = [step for run, step in effects if run == name]
            assert len(steps) == len(set(steps)), (name, steps)
            # What the first version had recorded decides.
            assert ("check" in steps) is (name[1] == "0"), (name, steps)
            assert {"pack", "wrap"} & set(steps) == {"pack" if name[1] in "23" else "wrap"}, name
        assert {count.state for count in await engine.count()} == {"completed"}
        for pair in pairs:
            page = await engine.sessions.transcript(_key(f"c{pair}").id)
            said = [entry.text for entry in page.entries if entry.direction == "out"]
            assert said == ["Hello.", "Day?", "Name?", "Monday Ann"], pair


def _key(user: str) -> SessionKey:
    return SessionKey(conversation="main", user=user, endpoint="booking")


async def _begin(engine: Engine, pairs: list[str]) -> None:
    """Submit all tasks, and send all messages of all conversations."""
    for pair in pairs:
        payload = msgspec.json.encode({"name": f"t{pair}"})
        await engine.submit("order", id=f"t{pair}", input=payload)
        for number, text in enumerate(("hi", "Monday", "Ann")):
            message = msgspec.json.encode({"text": text})
            activity = Activity(key=_key(f"c{pair}"), payload=message, id=f"{pair}-{number}")
            await engine.sessions.deliver("booking", activity)


async def _all_rest(engine: Engine, folder: Path, version: int, names: list[str]) -> bool:
    """Whether every run hangs in this version or has ended."""
    return await _moving(engine, folder, version, names) is None


async def _moving(engine: Engine, folder: Path, version: int, names: list[str]) -> str | None:
    """Return the id of the first execution that neither hangs in this version nor has ended."""
    file = folder / "hanging"
    hanging = set(file.read_text().splitlines()) if file.exists() else set()
    for name in names:
        if f"{version} {name}" in hanging:
            continue
        if name[0] == "t":
            if not (await engine.describe(name)).state.is_terminal:
                return name
        elif execution := (await engine.sessions.get(_key(name).id)).execution:
            return execution
    return None
