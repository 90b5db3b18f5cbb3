"""Run the tests of integrations against the oldest versions that they support.

The oldest versions are the lower bounds of the extras in pyproject.toml. They replace the locked
ones in an environment of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST = ROOT / ".venv" / "oldest"
EXTRAS = ("fastapi", "langgraph", "openai-agents", "pydantic-ai", "sqlalchemy")
TESTS = ("tests/integration/integrations", "tests/acceptance/test_integration_crashes.py")

_BOUND = re.compile(r"([\w-]+(?:\[\w+\])?)>=([\d.]+)")


def oldest() -> list[str]:
    """Return the lower bounds of the extras as exact requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [each for extra in EXTRAS for each in project["optional-dependencies"][extra]]
    found = [_BOUND.match(each) for each in wanted]
    bounds = [f"{match[1]}=={match[2]}" for match in found if match]
    # The oldest Pydantic AI does not bound what it needs for MCP.
    return [*bounds, "pydantic-ai-slim[mcp]", "fastmcp-slim<4", "mcp<2"]


def main() -> None:
    """Install, then test."""
    python = str(OLDEST / "bin" / "python")
    if not OLDEST.exists():
        subprocess.run([sys.executable, "-m", "venv", str(OLDEST)], check=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    for what in (
        ["--require-hashes", "-r", "requirements.lock"],
        oldest(),
        ["--no-deps", "-e", "."],
    ):
        subprocess.run([*pip, *what], check=True, cwd=ROOT)
    # Old versions use what later ones of other libraries deprecate.
    pytest = [python, "-m", "pytest", "-q", "-W", "ignore::DeprecationWarning"]
    tested = subprocess.run([*pytest, *TESTS], check=False, cwd=ROOT)
    sys.exit(tested.returncode)


if __name__ == "__main__":
    main()
