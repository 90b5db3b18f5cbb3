"""Whose webhook it is, if its address names no endpoint: the endpoint whose secrets verify it.

Only calls of trusted peers get here. An endpoint proves that a webhook is for it, with the secrets
that it shares with the provider; nothing that the body says is believed before that.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from holdfast.channels import Request
from holdfast.engine.endpoints import OpenEndpoint
from holdfast.errors import AmbiguousIdentity, EndpointNotFound, InvalidInput, InvalidSignature
from holdfast.model import checks

if TYPE_CHECKING:
    from holdfast.engine.engine import Engine

#: Each endpoint verifies the webhook, so there is a limit to how many are asked.
MOST_ENDPOINTS = 200


class Identifying:
    """Finds the endpoint of a webhook."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find(self, env: str, request: Request) -> OpenEndpoint:
        """Return the one endpoint of an env that a webhook is for; it is verified.

        Raises InvalidSignature if there is none, and AmbiguousIdentity if there are several.
        """
        verified = [one for one in await self._all(env) if _verifies(one, request)]
        if not verified:
            raise InvalidSignature("no endpoint verifies the call")
        if len(verified) > 1:
            # Endpoints of one app share its secret, and leave each other's messages alone.
            verified = [one for one in verified if _contains_something(one, request)]
        if len(verified) != 1:
            ids = sorted(one.endpoint.id for one in verified)
            message = f"it is not certain which endpoint of the env {env} the webhook is for"
            raise AmbiguousIdentity(message, ids=ids)
        return verified[0]

    async def _all(self, env: str) -> list[OpenEndpoint]:
        try:
            checks.name("env", env)
        except InvalidInput:
            return []
        found, more = await self._engine.store.endpoints.page(env, None, MOST_ENDPOINTS, None)
        if more is not None:
            message = (
                f"the env {env} has more than {MOST_ENDPOINTS} endpoints: "
                f"call the address of the one that is meant"
            )
            raise AmbiguousIdentity(message, limit=MOST_ENDPOINTS)
        opened: list[OpenEndpoint] = []
        for one in found:
            with contextlib.suppress(EndpointNotFound):
                # One whose secrets cannot be read ends the call: perhaps two are meant.
                opened.append(await self._engine.opened_endpoints.get(one.env, one.id))
        return opened


def _verifies(opened: OpenEndpoint, request: Request) -> bool:
    try:
        opened.provider.verify(opened.channel, request)
    except (InvalidSignature, InvalidInput):
        return False
    return True


def _contains_something(opened: OpenEndpoint, request: Request) -> bool:
    received = opened.provider.parse(opened.channel, request)
    return bool(received.messages or received.receipts)
