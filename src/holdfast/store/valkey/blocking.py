"""A blocking connection for threads that must not depend on an event loop: heartbeats.

The asyncio client delivers all replies through one event loop, so it cannot serve a thread whose
purpose is to continue when that loop is blocked.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import valkey
from valkey.cluster import ClusterNode, ValkeyCluster

from holdfast.errors import HoldfastError, StoreUnavailable
from holdfast.model.workers import Beat
from holdfast.store.leases import Held, group_by_tag, renew_args, renewal
from holdfast.store.store import Store
from holdfast.store.valkey.call import refusal_of
from holdfast.store.workers import register_args


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

    def renew(self, held: Sequence[Held], lease_ms: int) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        answers: dict[int, datetime | HoldfastError] = {}
        for tag, indexes in group_by_tag(self._store, held).items():
            args = renew_args([held[i] for i in indexes], lease_ms)
            replies = self._call("hf_lease_renew", tag, *args)
            answers |= zip(indexes, map(renewal, replies), strict=True)
        return [answers[index] for index in range(len(held))]

    def register_worker(self, beat: Beat) -> bool:
        """Register or refresh a worker; returns whether it should drain."""
        tag = self._store.global_tag
        _, _, draining = self._call("hf_worker_register", tag, *register_args(beat))
        return bool(draining)

    def remove_worker(self, instance: str) -> None:
        """Remove a worker from the registry."""
        self._call("hf_worker_remove", self._store.global_tag, instance, "")

    def _call(self, function: str, tag: str, *args: str) -> list[Any]:
        try:
            reply: list[Any] = self._send(function, tag, *args)
        except (valkey.ValkeyError, OSError) as error:
            message = f"the store cannot be reached ({error})"
            raise StoreUnavailable(message, function=function) from error
        if reply[0] != b"ok":
            raise refusal_of(reply[1:])
        return reply[1:]

    def _send(self, function: str, tag: str, *args: str) -> Any:
        try:
            return self._client.fcall(function, 1, tag, *args)
        except valkey.ResponseError as error:
            if "Function not found" not in str(error):
                raise
        # The next call from the event loop loads the library, if there is room for it.
        return self._client.eval(self._store.loader.script(function), 1, tag, *args)
