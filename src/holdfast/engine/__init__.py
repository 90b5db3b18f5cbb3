"""Operations and services over the store."""

from __future__ import annotations

from holdfast.engine.engine import Engine, open_engine

__all__ = ["Engine", "open_engine"]
