"""examples/teashop, which `make run` starts."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.processes import ROOT, environment

EXAMPLE = str(ROOT / "examples" / "teashop" / "run.py")
#: It takes ten seconds on an idle machine.
PATIENCE_S = 240


def test_make_run_starts_it() -> None:
    """The README says so."""
    command = ["make", "--dry-run", "--silent", "run"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1].endswith("python examples/teashop/run.py")


@pytest.mark.timeout(PATIENCE_S + 30)
def test_without_a_terminal_it_looks_at_itself_and_ends(tmp_path: Path) -> None:
    """A server, the console, an execution and a turn of a chat are seen; nothing is left."""
    shown = subprocess.run(
        [sys.executable, EXAMPLE],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (shown.returncode, shown.stderr) == (0, ""), shown.stdout
    for part in (
        "/console/",
        "/chat/local/support",
        "/readyz     answers",
        "/console/   answers",
        "print_label(1) is completed: parcel-1",
        "hello -> Welcome, checker.",
        "Stopped; the store and its folder are gone.",
    ):
        assert part in shown.stdout
    assert "\x1b" not in shown.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(PATIENCE_S + 30)
def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    """On a terminal it serves until then; tasks that run are given back."""
    ours, theirs = pty.openpty()
    variables = {**environment(tmp_path), "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    with (
        subprocess.Popen(
            [sys.executable, EXAMPLE],
            cwd=tmp_path,
            env={name: value for name, value in variables.items() if value},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as running,
        os.fdopen(ours, "rb", buffering=0) as screen,
    ):
        os.close(theirs)
        seen = b""
        while b"Press Ctrl-C" not in seen:
            seen += screen.read(1_000)
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE_S) == 0
        assert b"gone." in screen.read(1_000)
    assert list(tmp_path.iterdir()) == []
