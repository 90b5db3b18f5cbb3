"""URLs of stores and servers."""

from __future__ import annotations


def is_remote(url: str) -> bool:
    """Whether the URL is that of a server, not of a store."""
    return url.startswith(("http://", "https://"))
