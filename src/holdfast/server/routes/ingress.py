"""Ingress: webhooks of providers, which have a signature but no API key."""

from __future__ import annotations

import time

from starlette.responses import Response

from holdfast import channels, errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import ANYTHING, AnyQuery, Routes, Scope

routes: Routes = Routes("ingress", "Webhooks of providers. The endpoint's secrets verify them.")

ANY = "/ingress/{env}"
ONE = ANY + "/{endpoint}"


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
async def receive(call: Call, env: str, endpoint: str, body: bytes, query: AnyQuery) -> Response:
    """Receive a webhook of the provider of an endpoint.

    It is answered when its messages are in the store. An unknown endpoint and a wrong signature get
    the same response. The status of another failure makes the provider repeat the webhook.
    """
    request = _request(call, query, body)
    return _response(await call.services.ingress.receive(env, endpoint, request))


@routes.post(
    ANY,
    scope=Scope.PUBLIC,
    role=Role.SUBMITTER,
    errors=(
        errors.InvalidSignature,
        errors.AmbiguousIdentity,
        errors.NotDeliverable,
        errors.RateLimited,
        errors.StoreUnavailable,
        errors.StoreFull,
    ),
    most_bytes=bounds.WEBHOOK_BYTES,
    media_type=ANYTHING,
)
async def receive_unnamed(call: Call, env: str, body: bytes, query: AnyQuery) -> Response:
    """Receive a webhook that names no endpoint, from a peer that the server trusts.

    It is for the endpoint whose secrets verify it; nothing is guessed if these are several. Anyone
    else gets the response of a wrong signature (`holdfast server --trusted-peer`).
    """
    is_trusted = call.services.settings.trusts(call.address)
    ingress = call.services.ingress
    request = _request(call, query, body)
    return _response(await ingress.receive_unnamed(env, request, is_trusted=is_trusted))


@routes.get(
    ONE,
    scope=Scope.PUBLIC,
    errors=(errors.InvalidSignature, errors.RateLimited, errors.StoreUnavailable),
    media_type=ANYTHING,
)
async def challenge(call: Call, env: str, endpoint: str, query: AnyQuery) -> Response:
    """Answer a provider that checks the address of an endpoint before it uses it."""
    call.count_address()
    request = _request(call, query)
    return _response(await call.services.ingress.challenge(env, endpoint, request))


def _request(call: Call, query: AnyQuery, body: bytes = b"") -> channels.Request:
    return channels.Request(
        method=call.request.method,
        url=str(call.request.url),
        headers=dict(call.request.headers),
        query=query,
        body=body,
        at_s=time.time(),
    )


def _response(answer: channels.Answer) -> Response:
    return Response(answer.body, media_type=answer.content_type)
