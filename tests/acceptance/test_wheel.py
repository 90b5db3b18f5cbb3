"""The wheel: what a machine without node or a checkout needs is in it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.acceptance.processes import ROOT


def test_the_wheel_has_the_pages(tmp_path: Path) -> None:
    """And neither their sources nor what only tests use."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("chat.js", "chat.css", "embed.js", "console.js", "console.css"):
        assert f"holdfast/server/static/{name}" in names
    assert "holdfast/server/http/pages/answer.html" in names
    assert not [name for name in names if "axe" in name or name.endswith((".ts", ".tsx"))]
