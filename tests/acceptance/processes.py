"""Running the project's own commands as a person would, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import commands

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 45


def python(*args: str, folder: Path, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder that also takes its temporary files."""
    if args[:2] == ("-m", "holdfast.cli"):
        return commands.run(
            args[2:],
            folder=folder,
            environment=environment(folder),
            typed=typed or "",
            timeout_s=TIMEOUT_S,
        )
    return subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        env=environment(folder),
        input=typed,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def environment(folder: Path) -> dict[str, str]:
    """Return an environment whose temporary folder is `folder`."""
    return {**os.environ, "TMPDIR": str(folder)}
