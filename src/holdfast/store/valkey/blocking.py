"""A blocking connection for threads that must not depend on an event loop: heartbeats.

It has an event loop of its own, which runs only while a call is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holdfast.errors import HoldfastError, StoreUnavailable
from holdfast.model.workers import Beat
from holdfast.store.leases import Held, group_by_tag, renew_args, renewal
from holdfast.store.store import Store
from holdfast.store.valkey.call import refusal_of
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.workers import register_args


class BlockingStore:
    """Renews leases and registers workers, one blocking call each."""

    def __init__(self, store: Store, *, timeout_s: float) -> None:
        self._store = store
        self._timeout_ms = round(timeout_s * 1000)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._client: Client | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._runner.run(self._client.close())
        self._runner.close()

    def renew(self, held: Sequence[Held], lease_ms: int) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order.

        Raises StoreUnavailable if no partition could be asked.
        """
        return self._runner.run(self._renew(held, lease_ms))

    def register_worker(self, beat: Beat) -> bool:
        """Register or refresh a worker; returns whether it should drain."""
        tag = self._store.global_tag
        _, _, draining = self._call("hf_worker_register", tag, *register_args(beat))
        return bool(draining)

    def remove_worker(self, instance: str) -> None:
        """Remove a worker from the registry."""
        self._call("hf_worker_remove", self._store.global_tag, instance, "")

    def _call(self, function: str, tag: str, *args: str) -> list[Any]:
        return self._runner.run(self._answer(function, tag, *args))

    async def _renew(self, held: Sequence[Held], lease_ms: int) -> list[datetime | HoldfastError]:
        by_tag = group_by_tag(self._store, held)
        if by_tag:
            await self._connected()
        calls = (
            self._answer("hf_lease_renew", tag, *renew_args([held[i] for i in indexes], lease_ms))
            for tag, indexes in by_tag.items()
        )
        replies = await asyncio.gather(*calls, return_exceptions=True)
        answers: dict[int, datetime | HoldfastError] = {}
        is_away = bool(replies) and all(isinstance(reply, HoldfastError) for reply in replies)
        for indexes, reply in zip(by_tag.values(), replies, strict=True):
            if isinstance(reply, HoldfastError) and not is_away:
                # A part of the store that is away must not cost the leases of the others.
                answers |= dict.fromkeys(indexes, reply)
            elif isinstance(reply, BaseException):
                raise reply
            else:
                answers |= zip(indexes, map(renewal, reply), strict=True)
        return [answers[index] for index in range(len(held))]

    async def _answer(self, function: str, tag: str, *args: str) -> list[Any]:
        try:
            reply = await self._send(function, tag, *args)
        except CallFailed as failure:
            message = f"the store cannot be reached ({failure.text})"
            raise StoreUnavailable(message, function=function) from failure
        if reply[0] != b"ok":
            raise refusal_of(reply[1:])
        return reply[1:]

    async def _connected(self) -> Client:
        if self._client is None:
            timeout_ms = self._timeout_ms
            url = self._store.url
            self._client = await Client.connect(
                url, timeout_ms=timeout_ms, try_timeout_ms=timeout_ms
            )
        return self._client

    async def _send(self, function: str, tag: str, *args: str) -> list[Any]:
        client = await self._connected()
        call = (function, "1", tag, *args)
        try:
            reply: list[Any] = await client.call(("FCALL", *call))
        except CallFailed as failure:
            if not failure.answered:
                # The connection ended while the loop stood still.
                return await client.call(("FCALL", *call))  # type: ignore[no-any-return]
            if "Function not found" not in failure.text:
                raise
            # The next call from the event loop loads the library, if there is room for it.
            script = self._store.loader.script(function)
            reply = await client.call(("EVAL", script, *call[1:]))
        return reply
