"""Every key of a store with its value, read behind the store's back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import valkey

from tests.support.briefs import unfolded


class Server(Protocol):
    """A server that can be read without the store."""

    def raw(self) -> valkey.Valkey:
        """Return a plain client."""
        ...


def dump_keys(nodes: Sequence[Server], prefix: str) -> dict[str, Any]:
    """Return all keys that start with a prefix, but for the clock and short-lived memory."""
    found: dict[str, Any] = {}
    for node in nodes:
        with node.raw() as client:
            for key in client.scan_iter(match=f"{prefix}:*", count=1000):
                name = key.decode()
                part = name.split("}:", 1)[1]
                if part not in ("clock", "ack") and not part.startswith(("claim:", "batch:")):
                    value = _read(client, key)
                    is_brief = part.startswith("x:") and isinstance(value, bytes)
                    found |= unfolded(name, value) if is_brief else {name: value}
    return found


def _read(client: Any, key: bytes) -> Any:
    kind = client.type(key)
    if kind == b"hash":
        return client.hgetall(key)
    if kind == b"zset":
        return dict(client.zrange(key, 0, -1, withscores=True))
    if kind == b"set":
        return client.smembers(key)
    if kind == b"list":
        return client.lrange(key, 0, -1)
    if kind == b"stream":
        return client.xrange(key)
    return client.get(key)
