"""Holdfast as an MCP server: tasks as tools, and tools for operators."""

from holdfast.integrations.mcp.desk import Desk
from holdfast.integrations.mcp.server import new_server, serve_stdio

__all__ = ["Desk", "new_server", "serve_stdio"]
