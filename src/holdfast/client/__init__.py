"""Holdfast over HTTP: the same calls as an engine on the store itself."""

from __future__ import annotations

from holdfast.client.client import Client

__all__ = ["Client"]
