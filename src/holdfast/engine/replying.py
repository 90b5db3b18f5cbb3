"""The sending of replies to providers, in the order and with the retries of all replies.

It runs in every process that fires timers. Only those have the store itself, and so the secrets of
endpoints.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import TYPE_CHECKING

from typing_extensions import override

from holdfast.channels import Call, Rejected
from holdfast.engine.endpoints import OpenEndpoint
from holdfast.engine.opened_endpoints import OpenedEndpoints
from holdfast.engine.sending import POLICY, Later, Sending
from holdfast.errors import (
    EndpointNotFound,
    ReplyRejected,
    SecretNotFound,
    SecretUnreadable,
)
from holdfast.model.endpoints import SENDER
from holdfast.model.retry import RetryPolicy
from holdfast.model.sessions import OutgoingReply
from holdfast.store.sessions import Outgoing
from holdfast.store.store import Store

if TYPE_CHECKING:
    from holdfast.engine.posting import Poster

#: How long a provider may take to answer.
_CALL_S = 10.0
#: Replies of one endpoint that are sent at once; a slow provider leaves room for the others.
_MOST_OF_ENDPOINT = 128
#: How long replies wait for room, for a key of secrets, and at least if a provider asks to wait.
_ROOM_MS = 2_000
_KEY_MS = 10_000
_PAUSE_MS = 1_000


class Replying(Sending):
    """Sends the replies of sessions at endpoints, for as long as it runs."""

    name = "channels"
    most = 512
    # Short, so that a crash delays few replies; longer than a call may take.
    lease_ms = 15_000

    def __init__(
        self, store: Store, endpoints: OpenedEndpoints, policy: RetryPolicy = POLICY
    ) -> None:
        super().__init__(store, (SENDER,), policy)
        self._endpoints = endpoints
        self._poster: Poster | None = None
        self._busy: Counter[str] = Counter()
        #: Until when a provider asked to wait, by endpoint.
        self._paused: dict[str, float] = {}

    @override
    async def run(self) -> None:
        try:
            await super().run()
        finally:
            if self._poster is not None:
                await self._poster.close()
                self._poster = None

    @override
    async def _deliver(self, outgoing: Outgoing, reply: OutgoingReply) -> None:
        opened = await self._opened(reply)
        name = f"{reply.key.env}|{reply.key.endpoint}"
        self._check_room(name)
        self._busy[name] += 1
        try:
            calls = opened.provider.render(opened.channel, reply)
            for number, call in enumerate(calls, 1):
                if number <= reply.parts:
                    continue
                await self._post(name, opened, call)
                if number < len(calls):
                    await self._note_part(outgoing, reply, number)
        finally:
            self._busy[name] -= 1
            if not self._busy[name]:
                del self._busy[name]

    async def _opened(self, reply: OutgoingReply) -> OpenEndpoint:
        key = reply.key
        try:
            opened = await self._endpoints.get(key.env, key.endpoint)
        except EndpointNotFound as error:
            raise ReplyRejected(error.message) from None
        except (SecretUnreadable, SecretNotFound) as error:
            raise Later(error.message, _KEY_MS) from None
        if opened.endpoint.tenant != key.tenant:
            raise ReplyRejected(f"the endpoint {key.endpoint} belongs to another tenant")
        return opened

    def _check_room(self, name: str) -> None:
        now = asyncio.get_running_loop().time()
        if self._paused.get(name, 0.0) > now:
            left_ms = int((self._paused[name] - now) * 1000)
            raise Later("the provider asked to wait", left_ms + _spread(_PAUSE_MS))
        self._paused.pop(name, None)
        if self._busy[name] >= _MOST_OF_ENDPOINT:
            raise Later("many replies of this endpoint are being sent", _spread(_ROOM_MS))

    async def _post(self, name: str, opened: OpenEndpoint, call: Call) -> None:
        from holdfast.engine.posting import NotDelivered, Poster  # noqa: PLC0415 - slow to load

        if self._poster is None:
            self._poster = Poster(most=self.most, call_s=_CALL_S)
        try:
            response = await self._poster.send(
                call.url, call.headers, call.body, content_type=call.content_type, has_secrets=True
            )
            opened.provider.judge(response)
        except NotDelivered as error:
            if not error.again:
                raise ReplyRejected(str(error)) from None
            raise
        except Rejected as error:
            if not error.again:
                raise ReplyRejected(str(error)) from None
            if error.retry_after_ms is None:
                raise
            wait_ms = max(error.retry_after_ms, _PAUSE_MS)
            self._paused[name] = asyncio.get_running_loop().time() + wait_ms / 1000
            raise Later(str(error), wait_ms) from None

    async def _note_part(self, outgoing: Outgoing, reply: OutgoingReply, number: int) -> None:
        """Note that some messages of a reply are sent, so that no later try repeats them."""
        await self._sessions.settle(
            reply.session,
            outgoing.fence,
            reply.number,
            "part",
            lease_ms=self.lease_ms,
            delay_ms=number,
        )


def _spread(most_ms: int) -> int:
    return random.randint(most_ms // 2, most_ms)  # noqa: S311
