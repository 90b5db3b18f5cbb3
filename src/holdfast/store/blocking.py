"""A blocking connection for threads that must not depend on an event loop: heartbeats.

The asyncio client delivers all replies through one event loop, so it cannot serve a thread whose
purpose is to go on when that loop is blocked.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import valkey
from valkey.cluster import ClusterNode, ValkeyCluster

from holdfast.errors import HoldfastError, StoreUnavailable
from holdfast.model.executions import Lease
from holdfast.model.moments import from_ms
from holdfast.store.call import refusal_of
from holdfast.store.store import Store


class BlockingStore:
    """Renews leases and registers workers, one blocking call each."""

    def __init__(self, store: Store, *, timeout_s: float) -> None:
        self._store = store
        url = store.url
        options: dict[str, Any] = {
            "username": url.username,
            "password": url.password,
            "ssl": url.tls,
            "socket_timeout": timeout_s,
            "socket_connect_timeout": timeout_s,
        }
        if url.cluster:
            node: Any = ClusterNode
            nodes = [node(host, port) for host, port in url.addresses]
            self._client: Any = ValkeyCluster(startup_nodes=nodes, **options)
        else:
            host, port = url.addresses[0]
            self._client = valkey.Valkey(host=host, port=port, **options)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        by_tag: dict[str, list[int]] = {}
        for index, (execution_id, _) in enumerate(held):
            by_tag.setdefault(self._store.tag_of(execution_id), []).append(index)
        answers: dict[int, datetime | HoldfastError] = {}
        for tag, indexes in by_tag.items():
            args = [part for i in indexes for part in (held[i][0], held[i][1].fence)]
            replies = self._call("hf_lease_renew", tag, lease_ms, *args)
            for index, reply in zip(indexes, replies, strict=True):
                ok = reply[0] == b"ok"
                answers[index] = from_ms(reply[1]) if ok else refusal_of(reply[1:])
        return [answers[index] for index in range(len(held))]

    def register_worker(
        self,
        *,
        instance: str,
        worker: str,
        lanes: Sequence[str],
        capabilities: Sequence[str],
        slots: int,
        busy: int,
        ttl_ms: int,
    ) -> bool:
        """Register or refresh a worker; returns whether it should drain."""
        _, _, draining = self._call(
            "hf_worker_register",
            self._store.global_tag,
            instance,
            worker,
            ",".join(lanes),
            ",".join(capabilities),
            slots,
            busy,
            ttl_ms,
        )
        return bool(draining)

    def remove_worker(self, instance: str) -> None:
        """Take a worker off the registry."""
        self._call("hf_worker_remove", self._store.global_tag, instance)

    def _call(self, function: str, tag: str, *args: str | int) -> list[Any]:
        try:
            reply: list[Any] = self._client.fcall(function, 1, tag, *args)
        except (valkey.ValkeyError, OSError) as error:
            message = f"the store cannot be reached ({error})"
            raise StoreUnavailable(message, function=function) from error
        if reply[0] != b"ok":
            raise refusal_of(reply[1:])
        return reply[1:]
