"""Holdfast over HTTP: the same calls as in the process that has the store."""

from __future__ import annotations

from holdfast.client.client import Client, is_remote

__all__ = ["Client", "is_remote"]
