"""Ways to the answers of secrets."""

from __future__ import annotations

from unittest import mock

import httpx

from holdfast.model import bounds
from tests.server.answers.recipes import Stage, about_nothing, way

SET = "PUT /v1/secrets/{name}"

way("secret_not_found", "DELETE /v1/secrets/{name}")(about_nothing)


@way("too_many_secrets", SET)
async def _full(stage: Stage, name: str) -> httpx.Response:
    request = await stage.request(name, {"name": "one-more"})
    with mock.patch.object(bounds, "SECRETS", 0):
        return await stage.send(request)
