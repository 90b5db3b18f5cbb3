"""`holdfast chat` and `holdfast sessions`, as people and programs use them."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.processes import environment, python
from tests.acceptance.test_cli import background

BOT = """
from holdfast import App, Chat

app = App()


@app.conversation
async def support(chat: Chat) -> None:
    order = await chat.ask("Which order?", type=int)
    async with chat.typing() as out:
        await out.write(f"Order {order.value} ")
        await out.write("is on its way.")
    await chat.choose("Refund it?", ["yes", "no"])
    await chat.say("Done.")


@app.task
async def other() -> None: ...
"""
WAIT_S = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bot.py").write_text(BOT)
    return tmp_path


def holdfast(
    folder: Path, *args: str, typed: str | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    shown = python("-m", "holdfast.cli", *args, folder=folder, typed=typed)
    assert shown.returncode == code, shown.stdout + shown.stderr
    return shown


def test_a_user_leaves_and_comes_back(folder: Path) -> None:
    """The second run shows the earlier lines and continues with the question that is open."""
    chat = ("chat", "bot:app", "support", "--user", "ann")
    first = holdfast(folder, *chat, typed="hi\nx\n17\n")
    said = "you: hi\nsupport: Which order?\nyou: x\n"
    assert first.stdout.startswith(said)
    assert first.stdout.endswith("support: Refund it?\n  1  yes\n  2  no\n")
    assert "continues the conversation: holdfast chat bot:app support --user ann" in first.stderr
    second = holdfast(folder, *chat, typed="1\n")
    assert second.stdout.startswith(first.stdout)
    rest = second.stdout.removeprefix(first.stdout)
    assert rest.startswith("you: 1\nsupport: Done.\n(the conversation has ended")
    other = holdfast(folder, *chat, "--conversation", "second", typed="hi\n")
    assert other.stdout == "you: hi\nsupport: Which order?\n"


def test_a_program_reads_the_lines_as_objects(folder: Path) -> None:
    """One on a line, both directions."""
    shown = holdfast(folder, "chat", "bot:app", "--json", typed="hi\n17\n")
    lines = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [(line["direction"], line["text"]) for line in lines] == [
        ("in", "hi"),
        ("out", "Which order?"),
        ("in", "17"),
        ("out", "Order 17 is on its way."),
        ("out", "Refund it?"),
    ]
    assert lines[-1]["payload"]["buttons"][0] == {"label": "yes", "value": "yes"}


def test_wrong_names_are_told(folder: Path) -> None:
    """With those that there are."""
    shown = holdfast(folder, "chat", "bot:app", "other", code=2)
    assert "bot:app has no conversation other; it has support" in shown.stderr


def test_sessions_are_operated_from_the_command_line(folder: Path) -> None:
    """Find, read, speak, take over, give back, end, erase."""
    holdfast(folder, "chat", "bot:app", "--user", "ann", typed="hi\n")
    (found,) = json.loads(holdfast(folder, "sessions", "ls", "--json").stdout)["items"]
    session = found["id"]
    assert (found["user"], found["state"], found["tenant"]) == ("ann", "waiting", "default")
    assert session in holdfast(folder, "sessions", "--user", "ann").stdout
    assert "no sessions" in holdfast(folder, "sessions", "ls", "--tenant", "acme").stdout
    assert "waiting for a message since" in holdfast(folder, "sessions", "show", session).stdout
    why = holdfast(folder, "explain", found["execution"]).stdout
    assert why.startswith("It waits for a message from user ann since 20")
    assert f"session     {session}" in holdfast(folder, "show", found["execution"]).stdout
    holdfast(folder, "sessions", "handover", session, "bea", "--reason", "a refund")
    assert "bea answers: a refund" in holdfast(folder, "sessions", "show", session).stdout
    assert (
        "bea answers user ann (a refund)" in holdfast(folder, "explain", found["execution"]).stdout
    )
    holdfast(folder, "sessions", "say", session, "I am Bea.", "--author", "bea", "--key", "k")
    holdfast(folder, "sessions", "say", session, "I am Bea.", "--author", "bea", "--key", "k")
    lines = holdfast(folder, "sessions", "transcript", session, "--after", "1").stdout
    assert re.sub(r" +\d+  20\S+ \S+  ", "", lines) == (
        "support: Which order?\nnote: bea answers: a refund\nbea (a person): I am Bea.\n"
    )
    back = json.loads(holdfast(folder, "sessions", "handover", session, "--back", "--json").stdout)
    assert (back["state"], back["person"]) == ("waiting", None)
    holdfast(folder, "sessions", "resend", session, "2", code=3)
    holdfast(folder, "sessions", "end", session, "--reason", "enough")
    shown = json.loads(holdfast(folder, "sessions", "show", session, "--json").stdout)
    assert (shown["state"], len(shown["transcript"])) == ("idle", 5)
    holdfast(folder, "sessions", "erase", session, code=2)
    holdfast(folder, "sessions", "erase", session, "--yes")
    gone = holdfast(folder, "sessions", "show", session, code=3)
    assert "session_not_found" in gone.stderr


async def test_a_far_user_talks_through_a_server(folder: Path) -> None:
    """The worker of the command runs over HTTP, too."""
    with background(("server", "--listen", "127.0.0.1:0"), folder) as server:
        await server.wait_for_text("/docs")
        (url,) = re.findall(r"^holdfast serves (\S+)$", server.text(), re.MULTILINE)
        chat = ("chat", "bot:app", "--user", "ann", "--store", url)
        shown = holdfast(folder, *chat, typed="hi\n17\n2\n")
        assert "support: Order 17 is on its way.\nsupport: Refund it?\n" in shown.stdout
        assert "you: 2\nsupport: Done.\n" in shown.stdout
        listed = json.loads(holdfast(folder, "sessions", "--json", "--store", url).stdout)
        session = listed["items"][0]["id"]
        far = holdfast(folder, "sessions", "transcript", session, "--store", url)
        near = holdfast(folder, "sessions", "transcript", session)
        assert far.stdout == near.stdout
        holdfast(folder, "sessions", "erase", session, "--yes", "--store", url)


@pytest.mark.parametrize(("key", "code"), [("\x04", 0), ("\x03", 130)], ids=["ctrl-d", "ctrl-c"])
def test_a_person_leaves_a_terminal(folder: Path, key: str, code: int) -> None:
    """Between two lines; the command says how to come back, and leaves no process behind."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast.cli", "chat", "bot:app", "--user", "ann"],
        cwd=folder,
        env=environment(folder),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_take_terminal,  # noqa: PLW1509 - one thread here
    ) as process:
        os.close(slave)
        seen = _read_until(master, "you: ", "")
        os.write(master, b"hi\n")
        seen = _read_until(master, "Which order?\r\nyou: ", seen)
        os.write(master, key.encode())
        seen = _read_until(master, "holdfast chat bot:app support --user ann", seen)
        assert process.wait(WAIT_S) == code
    os.close(master)


def _take_terminal() -> None:
    import fcntl  # noqa: PLC0415 - in the child
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _read_until(master: int, text: str, seen: str) -> str:
    deadline = time.monotonic() + WAIT_S
    while text not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(master, 65_536).decode()
    return seen
