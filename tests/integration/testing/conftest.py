"""The fixtures of the plugin, whether or not pytest has found it by its entry point."""

from __future__ import annotations

from holdfast.testing.plugin import (
    holdfast_app,
    holdfast_clock,
    holdfast_engine,
    holdfast_server,
    holdfast_store,
)

__all__ = [
    "holdfast_app",
    "holdfast_clock",
    "holdfast_engine",
    "holdfast_server",
    "holdfast_store",
]
