"""Queues among real processes: the example, and consumers that are killed."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.acceptance.processes import ROOT, python

#: Reads one message, says so, and dies before it settles it; or settles it if told to.
CONSUMER = """
import asyncio, os, signal, sys
from holdfast import App

app = App("embedded://store")
numbers = app.queue("numbers", int)

async def main() -> None:
    async with app:
        if sys.argv[1] == "push":
            await numbers.define(lock_ms=50, max_attempts=2, dead_letter="dead")
            print(*[(await numbers.push(n)).duplicate for n in range(2)])
            return
        for one in await numbers.read(consumer=sys.argv[1], wait=20):
            print(one.value, one.message.attempt, flush=True)
            if sys.argv[1] == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            await one.ack()
        counts = (await numbers.stats()).groups["default"]
        print(counts.ready, counts.in_flight, counts.acked, counts.dead)

asyncio.run(main())
"""


def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    """examples/queues.py: a consumer, a dead letter, a correction."""
    shown = python(str(ROOT / "examples" / "queues.py"), folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert sorted(lines[:2]) == [
        "billing order 1: 1250 cents",
        "billing order 3: 990 cents",
    ]
    assert lines[2:4] == ["billed: [1, 3]", 'a dead letter: {"id": 2}']
    assert lines[4].startswith("because input")
    assert lines[-2:] == ["billing order 2: 0 cents", "corrected and billed: order 2"]


def test_a_killed_consumer_loses_nothing(tmp_path: Path) -> None:
    """Its message is handed out again; killed twice, the message is a dead letter."""
    path = tmp_path / "consumer.py"
    path.write_text(CONSUMER)
    assert python(str(path), "push", folder=tmp_path).stdout == "False False\n"
    for attempt in (1, 2):
        killed = python(str(path), "killed", folder=tmp_path)
        assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, f"0 {attempt}\n")
    calm = python(str(path), "calm", folder=tmp_path)
    assert calm.stdout.splitlines() == ["1 1", "0 0 1 1"], calm.stderr
