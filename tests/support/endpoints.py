"""Endpoints for tests of the store."""

from __future__ import annotations

from typing import Any

from holdfast.model.endpoints import NewEndpoint


def new(id: str = "inbox", **fields: Any) -> NewEndpoint:
    """An endpoint of a program."""
    return NewEndpoint(**{"id": id, "provider": "http", "conversation": "bot", **fields})
