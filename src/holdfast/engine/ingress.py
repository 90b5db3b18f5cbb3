"""Webhooks of providers: verify, then deliver, then acknowledge.

    the endpoint of the path -> verify -> admit -> parse -> deliver each message -> answer

The path alone chooses the endpoint, and the endpoint chooses the rest: nothing in a body does.
A trusted peer may leave the endpoint out; then the secrets of endpoints say which one it is.
A webhook is acknowledged when its messages are in the store, so a crash before that makes the
provider repeat it; a message that arrives twice has the same id, and is delivered once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from holdfast.channels import Answer, Call, Incoming, Receipt, Request
from holdfast.concurrency import stop
from holdfast.engine.endpoints import OpenEndpoint
from holdfast.engine.engine import Engine
from holdfast.engine.identifying import Identifying
from holdfast.engine.route_table import RouteTable
from holdfast.errors import (
    Conflict,
    EndpointNotFound,
    InvalidInput,
    InvalidSignature,
    NotDeliverable,
    NotFound,
    SecretNotFound,
    SecretUnreadable,
    SessionBusy,
)
from holdfast.model.activities import NewActivity
from holdfast.model.endpoints import SENDER, Endpoint
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity

if TYPE_CHECKING:
    from holdfast.engine.posting import Poster

log: logging.Logger = logging.getLogger(__name__)

#: Counts a number of messages of an endpoint; raises RateLimited.
Admit = Callable[[Endpoint, int], None]
#: The same for an endpoint that does not exist.
_REFUSED = "the endpoint does not exist, or the call is not genuine"
#: Courtesies that are sent at once; more are left out.
_COURTESIES = 100


class Ingress:
    """Receives webhooks on an open store."""

    def __init__(self, engine: Engine, admit: Admit) -> None:
        self._engine = engine
        self._admit = admit
        self._routes = RouteTable(engine.store)
        self._identifying = Identifying(engine)
        self._poster: Poster | None = None
        self._courtesies: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Stop sending courtesies, and listening to changes."""
        await stop(*self._courtesies)
        await self._routes.close()
        if self._poster is not None:
            await self._poster.close()

    async def challenge(self, env: str, endpoint_id: str, request: Request) -> Answer:
        """Answer a provider that checks the address; raises InvalidSignature."""
        opened = await self._opened(env, endpoint_id)
        try:
            return opened.provider.challenge(opened.channel, request)
        except InvalidSignature:
            raise InvalidSignature(_REFUSED) from None

    async def receive(self, env: str, endpoint_id: str, request: Request) -> Answer:
        """Deliver what a webhook contains, and return the answer to it.

        Raises InvalidSignature, InvalidInput, RateLimited, and NotDeliverable if nothing takes a
        message now, so that the provider repeats it.
        """
        opened = await self._opened(env, endpoint_id)
        try:
            opened.provider.verify(opened.channel, request)
        except (InvalidSignature, InvalidInput) as error:
            log.info("a webhook of endpoint %s was refused: %s", endpoint_id, error)
            raise InvalidSignature(_REFUSED) from None
        return await self._take(opened, request)

    async def receive_unnamed(self, env: str, request: Request, *, is_trusted: bool) -> Answer:
        """Deliver what a webhook contains that a trusted peer sends without naming an endpoint.

        Of anybody else, nothing is looked at. Raises what `receive` does, and AmbiguousIdentity.
        """
        if not is_trusted:
            raise InvalidSignature(_REFUSED)
        try:
            opened = await self._identifying.find(env, request)
        except InvalidSignature:
            raise InvalidSignature(_REFUSED) from None
        except (SecretUnreadable, SecretNotFound) as error:
            raise NotDeliverable(error.message) from error
        return await self._take(opened, request)

    async def _take(self, opened: OpenEndpoint, request: Request) -> Answer:
        """Deliver what a verified webhook contains."""
        # Only genuine calls count: nobody else can use up the rate of a provider.
        received = opened.provider.parse(opened.channel, request)
        self._admit(opened.endpoint, max(1, len(received.messages)))
        for message in received.messages:
            await self._deliver(opened.endpoint, message, request)
        for receipt in received.receipts:
            await self._note(opened.endpoint, receipt)
        for call in received.courtesies:
            self._be_courteous(call)
        return received.answer

    async def _opened(self, env: str, endpoint_id: str) -> OpenEndpoint:
        try:
            return await self._engine.opened_endpoints.get(env, endpoint_id)
        except (EndpointNotFound, InvalidInput):
            raise InvalidSignature(_REFUSED) from None
        except (SecretUnreadable, SecretNotFound) as error:
            # What cannot be verified is not accepted; the provider repeats it.
            raise NotDeliverable(error.message) from error

    async def _deliver(self, endpoint: Endpoint, message: Incoming, request: Request) -> None:
        payload = msgspec.json.encode(message.payload)
        try:
            if endpoint.conversation is not None:
                key = SessionKey(
                    conversation=message.conversation,
                    user=message.user,
                    endpoint=endpoint.id,
                    tenant=endpoint.tenant,
                    env=endpoint.env,
                )
                activity = Activity(key=key, payload=payload, id=message.id, kind=message.kind)
                await self._engine.sessions.deliver(endpoint.conversation, activity, sender=SENDER)
                return
            new = NewActivity(
                env=endpoint.env,
                tenant=endpoint.tenant,
                endpoint=endpoint.id,
                conversation=message.conversation,
                user=message.user,
                payload=payload,
                id=message.id,
                kind=message.kind,
            )
            deployment = endpoint.deployment or await self._routed(endpoint, request)
            await self._engine.activities.handle(
                new, deployment=deployment, sender=SENDER, wait_ms=0
            )
        except SessionBusy:
            # The conversation refuses messages during a turn; a repetition would come too late.
            log.info("a message to endpoint %s was refused: its session is busy", endpoint.id)
        except (NotFound, Conflict) as error:
            log.warning("a message to endpoint %s was not delivered: %s", endpoint.id, error)
            problem = f"the endpoint {endpoint.id} cannot deliver messages now: {error.code}"
            raise NotDeliverable(problem, reason=error.code) from error

    async def _routed(self, endpoint: Endpoint, request: Request) -> str:
        """Return the deployment that answers the host and the path of a call."""
        url = urlsplit(request.url)
        return await self._routes.find(endpoint.env, endpoint.tenant, url.hostname or "", url.path)

    async def _note(self, endpoint: Endpoint, receipt: Receipt) -> None:
        reporter = (endpoint.env, endpoint.tenant, endpoint.id)
        try:
            await self._engine.store.sessions.receipt(
                receipt.session,
                receipt.number,
                receipt.state,
                receipt.problem,
                reporter,
                resent=receipt.resent,
            )
        except NotFound:
            # The session is gone, or the reply has left the transcript.
            log.debug("a receipt of endpoint %s is about nothing", endpoint.id)

    def _be_courteous(self, call: Call) -> None:
        """Send a call that nobody waits for."""
        if len(self._courtesies) < _COURTESIES:
            task = asyncio.ensure_future(self._try(call))
            self._courtesies.add(task)
            task.add_done_callback(self._courtesies.discard)

    async def _try(self, call: Call) -> None:
        from holdfast.engine.posting import NotDelivered, Poster  # noqa: PLC0415 - slow to load

        if self._poster is None:
            self._poster = Poster()
        try:
            await self._poster.send(
                call.url, call.headers, call.body, content_type=call.content_type, has_secrets=True
            )
        except NotDelivered as error:
            log.debug("a courtesy was not sent: %s", error)
