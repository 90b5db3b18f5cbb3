"""An MCP server with one tool, which notes its calls: `python mcp_tools.py FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mcp import server


def double(n: int) -> int:
    """Double a number."""
    with Path(sys.argv[1]).open("a") as notes:
        notes.write(f"double {n}\n")
    return 2 * n


if __name__ == "__main__":
    # Version 2 has another name for it.
    kind: Any = getattr(server, "MCPServer", None) or getattr(server, "FastMCP")  # noqa: B009
    tools = kind("tools")
    tools.tool()(double)
    tools.run()
