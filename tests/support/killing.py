"""Killing a store's server, and starting it again on the same port and folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

from holdfast.testing.servers import TestServer


def restart(server: TestServer, folder: Path) -> TestServer:
    """Start the killed server again, on its port and its folder."""
    process = subprocess.Popen(
        server.process.args, stdout=subprocess.DEVNULL, cwd=folder, start_new_session=True
    )
    return TestServer(process, server.port)


def kill(server: TestServer) -> None:
    server.process.kill()
    server.process.wait()
