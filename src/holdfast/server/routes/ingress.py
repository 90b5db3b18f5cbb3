"""Ingress: webhooks of providers, which have a signature but no API key."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from starlette.responses import Response

from holdfast import channels, errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import ANYTHING, Routes, Scope

routes: Routes = Routes("ingress", "Webhooks of providers. The endpoint's secrets verify them.")

ONE = "/ingress/{env}/{endpoint}"


@routes.post(
    ONE,
    scope=Scope.PUBLIC,
    role=Role.SUBMITTER,
    errors=(
        errors.InvalidSignature,
        errors.NotDeliverable,
        errors.RateLimited,
        errors.StoreUnavailable,
        errors.StoreFull,
    ),
    most_bytes=bounds.WEBHOOK_BYTES,
    media_type=ANYTHING,
)
async def receive(call: Call, env: str, endpoint: str, body: bytes) -> Response:
    """Receive a webhook of the provider of an endpoint.

    It is answered when its messages are in the store. An unknown endpoint and a wrong signature get
    the same response. The status of another failure makes the provider repeat the webhook.
    """
    return await _answered(call, body, env, endpoint, call.services.ingress.receive)


@routes.get(
    ONE,
    scope=Scope.PUBLIC,
    errors=(errors.InvalidSignature, errors.RateLimited, errors.StoreUnavailable),
    media_type=ANYTHING,
)
async def challenge(call: Call, env: str, endpoint: str) -> Response:
    """Answer a provider that checks the address of an endpoint before it uses it."""
    call.count_address()
    return await _answered(call, b"", env, endpoint, call.services.ingress.challenge)


_Receive = Callable[[str, str, channels.Request], Awaitable[channels.Answer]]


async def _answered(
    call: Call, body: bytes, env: str, endpoint: str, receive: _Receive
) -> Response:
    request = call.request
    given = channels.Request(
        method=request.method,
        url=str(request.url),
        headers=dict(request.headers),
        query=dict(request.query_params),
        body=body,
        at_s=time.time(),
    )
    answer = await receive(env, endpoint, given)
    return Response(answer.body, media_type=answer.content_type)
