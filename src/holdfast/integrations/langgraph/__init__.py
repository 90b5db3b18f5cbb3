"""LangGraph on Holdfast: a checkpointer, a store for memories, and interrupts as waitpoints."""

from __future__ import annotations

from holdfast.integrations.langgraph.memory import HoldfastStore
from holdfast.integrations.langgraph.running import invoke
from holdfast.integrations.langgraph.saver import HoldfastSaver

__all__ = ["HoldfastSaver", "HoldfastStore", "invoke"]
