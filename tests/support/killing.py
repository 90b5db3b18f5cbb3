"""Killing a store's server, and starting it again on the same port and folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from holdfast.testing.servers import TestServer


def restart(
    server: TestServer, folder: Path, environment: Mapping[str, str] | None = None
) -> TestServer:
    """Start the killed server again, on its port and its folder, with more environment."""
    process = subprocess.Popen(
        server.process.args,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    return TestServer(process, server.port)


def kill(server: TestServer) -> None:
    server.process.kill()
    server.process.wait()
