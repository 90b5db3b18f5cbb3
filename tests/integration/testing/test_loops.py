"""Several event loops in a process: those of tests, and those of SyncClients."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from holdfast import App
from holdfast.testing import TestApp, TestServer

TWO_CLIENTS = """
import sys
from holdfast import App, SyncClient

first, second = App(sys.argv[1]), App(sys.argv[1])

@second.task
def work() -> int:
    return 1

one = SyncClient(first).__enter__()
with SyncClient(second) as two:
    two.submit(work)
    one.__exit__()
    print(two.submit(work).state())
"""


def test_a_loop_that_stands_still_does_not_hold_up_another(holdfast_server: TestServer) -> None:
    """Two loops in turn, as tests of different scopes have them: each gets its replies."""
    app = App()

    @app.task
    async def double(n: int) -> int:
        return 2 * n

    async def opened() -> TestApp:
        return await TestApp(app, server=holdfast_server).__aenter__()

    with asyncio.Runner() as long, asyncio.Runner() as short:
        outer = long.run(opened())
        inner = short.run(opened())
        assert short.run(inner.run(double, 1)) == 2
        short.run(inner.__aexit__())
        assert long.run(outer.run(double, 2)) == 4
        inner = short.run(opened())
        assert short.run(inner.run(double, 3)) == 6
        short.run(inner.__aexit__())
        short.close()
        assert long.run(outer.run(double, 4)) == 8
        long.run(outer.__aexit__())


def test_a_sync_client_goes_on_when_another_is_closed(tmp_path: Path, real_url: str) -> None:
    """Each has a loop of its own; closing one must not take the other's replies away."""
    (tmp_path / "two.py").write_text(TWO_CLIENTS)
    shown = subprocess.run(
        [sys.executable, "two.py", real_url],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    assert (shown.returncode, shown.stdout) == (0, "waiting\n"), shown.stderr
