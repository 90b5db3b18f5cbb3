"""Waiting on the command line: the inbox, answers, tokens and keys, against a worker that runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.terminal import times
from holdfast.engine import open_engine
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from tests.acceptance.test_cli import TIMEOUT_S, Shop, asked, background, done, holdfast

DESK = """
from holdfast import App, Context, Denied

app = App()


@app.task
async def pay(ctx: Context) -> str:
    try:
        found = await ctx.wait_for("pay", approvers=2, title="Pay 40?", answerers=["ann", "ben"])
    except Denied as denied:
        return f"{denied.source.identity} said no: {denied.payload['comment']}"
    return f"paid after {len(found)}"


@app.task
async def launch(ctx: Context) -> int:
    return len(await ctx.wait_for("launch", approvers=["ann", "ben", "cid"], need=2))


@app.task
async def ask(ctx: Context) -> object:
    return await ctx.wait_for("anything")


@app.task
async def listen(ctx: Context) -> int:
    total = 0
    async for signal in ctx.signals("add", "stop"):
        if signal.name == "stop":
            break
        total += signal.value
        await ctx.set_view({"total": total})
    return total


@app.task
async def release(ctx: Context) -> object:
    return await ctx.wait_for("release", approvers=2, timeout=7_000)
"""


@pytest.fixture(scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    """A folder with the app and its store, which a worker runs."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "desk.py").write_text(DESK)
    with background(["worker", "desk:app"], folder) as worker:
        await worker.wait_for_text("holdfast is running desk:app")
        async with open_engine(f"embedded://{folder}/.holdfast", maintenance=False) as engine:
            yield Shop(folder, engine)


async def _suspended(desk: Shop, kind: str) -> tuple[str, str]:
    """Submit an execution and wait until it waits; returns its id and its waitpoint's."""
    execution_id = await desk.submit(kind, {})

    async def waits() -> bool:
        return (await desk.engine.describe(execution_id)).state is State.SUSPENDED

    await wait_for(waits, timeout_s=TIMEOUT_S)
    return execution_id, f"{execution_id}~w1"


def _result(execution_id: str, folder: Path) -> Any:
    return asked("result", execution_id, "--wait", "20s", folder=folder)["result"]


async def test_two_approve(desk: Shop) -> None:
    """The inbox lists it, each answer says what it did, and it is gone from the inbox."""
    folder = desk.folder
    execution_id, point = await _suspended(desk, "pay")
    shown = done("waitpoints", folder=folder)
    assert point in shown
    assert "Pay 40?" in shown
    assert "ann, ben" in shown
    why = done("explain", execution_id, folder=folder)
    assert why.startswith("It waits for approval by 2 more of ann, ben at ")
    assert "waits for approval" in done("ls", "--state", "suspended", folder=folder)
    assert asked("waitpoints", folder=folder)["items"][0]["id"] == point
    assert done("approve", point, "--as", "ann", folder=folder).startswith("appended: counted")
    again = done("approve", execution_id, "--as", "ann", folder=folder)
    assert again == "duplicate: already received; nothing changes\n"
    assert asked("approve", point, "--as", "ben", folder=folder)["effect"] == "resumed"
    assert _result(execution_id, folder) == "paid after 2"
    assert point not in done("waitpoints", "ls", folder=folder)
    late = holdfast("approve", point, "--as", "ann", folder=folder)
    assert (late.returncode, "waitpoint_closed" in late.stderr) == (1, True)


async def test_named_people_approve_with_their_tokens(desk: Shop) -> None:
    """Not under their names alone, and one of them not twice."""
    execution_id, point = await _suspended(desk, "launch")
    refused = holdfast("approve", point, "--as", "ann", folder=desk.folder)
    assert "accepts only signals with a token of ann, ben, cid" in refused.stderr
    ann = done("waitpoints", "token", point, "--for", "ann", folder=desk.folder)
    for effect in ("appended", "duplicate"):
        shown = done("approve", point, "--token", "-", folder=desk.folder, stdin=ann)
        assert shown.startswith(effect)
    ben = await desk.engine.waitpoints.token(point, reader="test", person="ben")
    done("approve", point, "--token", "-", folder=desk.folder, stdin=ben.reveal())
    assert _result(execution_id, desk.folder) == 2
    secret = done("webhooks", "secret", folder=desk.folder).strip()
    assert secret == await desk.engine.webhooks.secret("default")


async def test_a_wait_with_a_timeout_says_until_when(desk: Shop) -> None:
    """In the inbox, in the list of the execution, in JSON; the waitpoint itself never expires."""
    execution_id, point = await _suspended(desk, "release")
    (row,) = [line for line in done("waitpoints", folder=desk.folder).splitlines() if point in line]
    assert " in 1 h " in row
    (shown,) = asked("waitpoints", "show", execution_id, folder=desk.folder)["waitpoints"]
    until = (await desk.engine.describe(execution_id)).wait_until
    assert until is not None
    assert (datetime.fromisoformat(shown["until"]), shown["expires_at"]) == (until, None)
    listed = done("waitpoints", "show", point, folder=desk.folder)
    assert str(times.stamp(until)) in listed


async def test_one_denies(desk: Shop) -> None:
    """With a comment; a stranger may not."""
    execution_id, point = await _suspended(desk, "pay")
    stranger = holdfast("deny", point, "--as", "eve", folder=desk.folder)
    assert (stranger.returncode, "signal_not_allowed" in stranger.stderr) == (1, True)
    assert "accepts only signals from ann, ben; this one is from eve" in stranger.stderr
    done("deny", point, "--as", "ben", "--comment", "too much", folder=desk.folder)
    assert _result(execution_id, desk.folder) == "ben said no: too much"


async def test_a_signal_with_a_token(desk: Shop) -> None:
    """Rotation keeps it good for the grace; reading it is in the history; it is in no list."""
    folder = desk.folder
    execution_id, point = await _suspended(desk, "ask")
    token = done("waitpoints", "token", point, folder=folder).strip()
    (folder / "token").write_text(token)
    rotated = asked("keyring", "rotate", "--grace", "1h", folder=folder)
    keys = asked("keyring", folder=folder)
    assert keys["current"] == rotated["kid"]
    assert {item["state"] for item in keys["items"]} == {"current", "retired"}
    wrong = holdfast("signal", point, "--token", "hf1.a.b.c", folder=folder)
    assert (wrong.returncode, "invalid_token" in wrong.stderr) == (1, True)
    args = ("signal", point, "reply", "--token", "@token", "--payload", "[1]", "--key", "k")
    assert done(*args, folder=folder).startswith("resumed")
    assert done(*args, folder=folder).startswith("duplicate")
    assert _result(execution_id, folder) == [1]
    shown = done("waitpoints", "show", execution_id, folder=folder)
    assert "reply" in shown
    assert "token_read" in done("history", execution_id, folder=folder)
    listed = shown + done("waitpoints", "show", execution_id, "--json", folder=folder)
    listed += done("show", execution_id, "--json", folder=folder)
    assert token not in listed


async def test_an_operator_resumes_and_revokes(desk: Shop) -> None:
    """A revoked waitpoint takes no answer; its execution can still be resumed."""
    folder = desk.folder
    execution_id, point = await _suspended(desk, "ask")
    assert "revoked" in done("waitpoints", "revoke", point, folder=folder)
    assert holdfast("signal", point, folder=folder).returncode == 1
    assert "waiting" in done("resume", execution_id, "--payload", '"go"', folder=folder)
    assert _result(execution_id, folder) == "go"
    again = holdfast("resume", execution_id, folder=folder)
    assert (again.returncode, "not_suspended" in again.stderr) == (1, True)


def test_bad_input_is_told_in_one_line(desk: Shop) -> None:
    """An id that is none, a payload that is no JSON, a secret that is too short."""
    for args in (
        ("approve", "non~wsense"),
        ("signal", "x~w1", "--payload", "{"),
        ("keyring", "rotate", "--kid", "k.1"),
        ("keyring", "rotate", "--secret-hex", "abcd"),
    ):
        shown = holdfast(*args, folder=desk.folder)
        assert (shown.returncode, shown.stdout, len(shown.stderr.splitlines())) == (2, "", 1)
    assert holdfast("approve", "nobody~w1", folder=desk.folder).returncode == 3


async def test_signals_reach_the_code_and_its_view_is_shown(desk: Shop) -> None:
    """By the command line alone."""
    execution_id = await desk.submit("listen", {})
    sent = done(
        "signal", execution_id, "--name", "add", "-p", "2", "--key", "k", folder=desk.folder
    )
    assert "buffered: the execution receives it when its code asks for it" in sent
    again = done(
        "signal", execution_id, "--name", "add", "-p", "2", "--key", "k", folder=desk.folder
    )
    assert "duplicate" in again

    async def is_shown() -> bool:
        return bool((await desk.engine.view(execution_id)).value == {"total": 2})

    await wait_for(is_shown, timeout_s=TIMEOUT_S)
    assert asked("view", execution_id, folder=desk.folder)["view"] == {"total": 2}
    assert "Its code waits for a signal named add or stop." in done(
        "explain", execution_id, folder=desk.folder
    )
    done("signal", execution_id, "--name", "stop", folder=desk.folder)
    assert done("result", execution_id, "--wait", "20", folder=desk.folder).strip() == "2"
    shown = done("view", execution_id, "-f", folder=desk.folder)
    assert '"total": 2' in shown
    refused = holdfast("signal", execution_id, "--name", "add", folder=desk.folder)
    assert "already_terminal" in refused.stderr
