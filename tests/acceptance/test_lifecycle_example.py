"""examples/lifecycle.py, which `make demo` shows."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.acceptance.processes import ROOT, TIMEOUT_S, environment, python

EXAMPLE = str(ROOT / "examples" / "lifecycle.py")


def _positions(text: str, parts: Sequence[str]) -> list[int]:
    positions = [text.find(part) for part in parts]
    assert -1 not in positions, [part for part in parts if part not in text]
    return positions


def test_the_demo_tells_the_whole_life_in_order_and_succeeds(tmp_path: Path) -> None:
    """Submit, retry, SIGKILL, reclaim and result; without colours in a pipe; nothing is left."""
    shown = python(EXAMPLE, folder=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    positions = _positions(
        shown.stdout,
        (
            "Submitted send-invoice as",
            "explain: It waits for a worker: no live worker serves lane default.",
            "[worker-1] claims send-invoice: attempt 1, kind initial",
            "[worker-1] claims send-invoice: attempt 2, kind retry",
            'Result: "sent"',
            "Submitted fulfil-order as",
            "[worker-1] charges the card and records it as step charge-card",
            "kill -9",
            "[worker-2] claims fulfil-order: attempt 2, kind reclaim",
            "[worker-2] step charge-card is recorded already: does not charge again",
            "lease_expired  1        worker-1",
            "The card was charged once.",
            "What to try next",
        ),
    )
    assert positions == sorted(positions)
    assert "\x1b" not in shown.stdout
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_stops_the_demo_cleanly(tmp_path: Path) -> None:
    """An interrupt in the middle ends it without a traceback and removes its folder."""
    with subprocess.Popen(
        [sys.executable, EXAMPLE],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as demo:
        assert demo.stdout is not None
        try:
            while "[worker-1]" not in (line := demo.stdout.readline()):
                assert line, "the demo ended too early"
            demo.send_signal(signal.SIGINT)
            _, errors = demo.communicate(timeout=TIMEOUT_S)
        finally:
            demo.kill()
    assert (demo.returncode, errors) == (130, "")
    assert list(tmp_path.iterdir()) == []
