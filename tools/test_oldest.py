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
EXTRAS = ("django", "fastapi", "langgraph", "openai-agents", "pydantic-ai", "sqlalchemy")
TESTS = ("tests/integration/integrations", "tests/acceptance/test_integration_crashes.py")
#: Tested last and alone: the oldest Pydantic AI needs an older `mcp` than Holdfast.
MCP_TESTS = (
    "tests/integration/integrations/test_mcp.py",
    "tests/acceptance/test_mcp_crashes.py",
)

_BOUND = re.compile(r"([\w-]+(?:\[\w+\])?)>=([\d.]+)")


def oldest(*extras: str) -> list[str]:
    """Return the lower bounds of extras as exact requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [each for extra in extras for each in project["optional-dependencies"][extra]]
    found = [_BOUND.match(each) for each in wanted]
    return [f"{match[1]}=={match[2]}" for match in found if match]


def main() -> None:
    """Install, then test."""
    python = str(OLDEST / "bin" / "python")
    if not OLDEST.exists():
        subprocess.run([sys.executable, "-m", "venv", str(OLDEST)], check=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    # Old versions use what later ones of other libraries deprecate.
    pytest = [python, "-m", "pytest", "-q", "-W", "ignore::DeprecationWarning"]
    # The oldest Pydantic AI does not bound what it needs for MCP.
    others = [*oldest(*EXTRAS), "pydantic-ai-slim[mcp]", "fastmcp-slim<4", "mcp<2"]
    locked = ["--require-hashes", "-r", "requirements.lock"]
    code = 0
    for installed, tests in (
        ((locked, others, ["--no-deps", "-e", "."]), [*TESTS, f"--ignore={MCP_TESTS[0]}"]),
        ((oldest("mcp"),), MCP_TESTS),
    ):
        for what in installed:
            subprocess.run([*pip, *what], check=True, cwd=ROOT)
        tested = subprocess.run([*pytest, *tests], check=False, cwd=ROOT)
        code = code or tested.returncode
    sys.exit(code)


if __name__ == "__main__":
    main()
