"""What the parts of the bench share: the event loop, the machine of a run, and the table."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Figures = dict[str, float]

RESULTS = Path(__file__).parent / "results"


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop if it is installed."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def machine() -> dict[str, Any]:
    """Describe the machine of this run."""
    git = shutil.which("git") or "git"
    commit = subprocess.run(
        [git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    cpuinfo = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else []
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "fsync": "always",
    }


def table(results: dict[str, Figures]) -> str:
    """Format the results as a table."""
    lines = []
    for title, figures in results.items():
        lines.append(f"\n{title}")
        for name, value in figures.items():
            shown = f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"
            lines.append(f"  {name:<44}{shown:>12}")
    return "\n".join(lines)
