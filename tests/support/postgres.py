"""A PostgreSQL server for tests, where one is installed."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_OPTIONS = ("-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB")


def folder() -> Path | None:
    """Return where the programs of the server are."""
    found = shutil.which("postgres")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


@contextlib.contextmanager
def start(programs: Path) -> Iterator[str]:
    """Start a server in a folder of its own; yield its address for SQLAlchemy."""
    # The server refuses to run as root.
    user = "nobody" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp", ignore_cleanup_errors=True) as place:
        if user:
            os.chown(place, pwd.getpwnam(user).pw_uid, -1)
        data = f"{place}/data"
        subprocess.run(
            [
                programs / "initdb",
                "-D",
                data,
                "-U",
                "tests",
                "-A",
                "trust",
                "-N",
                "-E",
                "UTF8",
                "--locale=C",
            ],
            check=True,
            capture_output=True,
            user=user,
            cwd=place,
        )
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", place, *_OPTIONS],
            stderr=subprocess.PIPE,
            user=user,
            cwd=place,
            text=True,
        )
        try:
            assert server.stderr is not None
            for line in server.stderr:
                if "ready to accept connections" in line:
                    break
            yield f"postgresql+psycopg://tests@/postgres?host={place}"
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=20)
