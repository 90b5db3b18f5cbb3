"""An MCP server with one tool, which notes its calls: `python mcp_tools.py FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mcp import server


def tools(notes: Path) -> Any:
    """Return the server."""
    # Version 2 has another name for it.
    kind: Any = getattr(server, "MCPServer", None) or getattr(server, "FastMCP")  # noqa: B009
    made = kind("tools")

    def double(n: int) -> int:
        """Double a number."""
        with notes.open("a") as out:
            out.write(f"double {n}\n")
        return 2 * n

    made.tool()(double)
    return made


if __name__ == "__main__":
    tools(Path(sys.argv[1])).run()
