"""The sources of an earlier version, taken from the history of this clone."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_HERE = Path(__file__).parent

#: The commit of the version that must be able to share a store with this one.
PREVIOUS: str = (_HERE / "PREVIOUS").read_text().strip()


def tree_of(commit: str, folder: Path) -> Path:
    """Write the sources and tests of a commit to a folder, with the programs of today's tests."""
    command = ["git", "-C", str(ROOT), "archive", commit, "src", "tests"]
    made = subprocess.run(command, capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"this clone does not have commit {commit[:8]}: fetch its history")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    shutil.copytree(_HERE, folder / _HERE.relative_to(ROOT), dirs_exist_ok=True)
    return folder


def environment_of(tree: Path) -> dict[str, str]:
    """Return an environment in which Python imports the sources of a tree before all others."""
    return {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
