"""A provider's API on loopback: takes messages, and fails as a test says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from holdfast.testing.polling import wait_for
from tests.support.web import serving

#: What the APIs of all providers answer to a message that they took.
_TAKEN = {"ok": True, "ErrorCode": 0, "messages": [{"id": "wamid.1"}], "sid": "SM1"}


@dataclass(frozen=True)
class Taken:
    """A message that arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What it says, whichever provider it was for."""
        body = self.body
        found = body.get("payload", body)
        text = found.get("text", found.get("Body", found.get("TextBody", "")))
        return str(text["body"] if isinstance(text, dict) else text)


@dataclass(frozen=True)
class Failure:
    """How the next message is refused; None as the status means that nothing is answered."""

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: The message is taken all the same.
    takes: bool = False


class FakeProvider:
    """Takes messages."""

    def __init__(self) -> None:
        self.url: str = ""
        self.taken: list[Taken] = []
        self.failures: list[Failure] = []
        self.calls: int = 0

    @property
    def texts(self) -> list[str]:
        """What the messages say, in the order of their arrival; courtesies say nothing."""
        return [one.text for one in self.taken if one.text]

    async def got(self, *texts: str) -> None:
        """Wait until it took exactly these."""

        async def has_them() -> bool:
            return self.texts == list(texts)

        await wait_for(has_them)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Take a message, or fail."""
        self.calls += 1
        data = await request.text()
        is_form = request.content_type == "application/x-www-form-urlencoded"
        body = {k: v[0] for k, v in parse_qs(data).items()} if is_form else json.loads(data)
        failure = self.failures.pop(0) if self.failures else None
        if failure is None or failure.takes:
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.taken.append(Taken(request.path, headers, body))
        if failure is None:
            return web.json_response(_TAKEN)
        if failure.status is None:
            await asyncio.Event().wait()
        return web.Response(status=failure.status or 500, headers=failure.headers)


@contextlib.asynccontextmanager
async def fake_provider() -> AsyncIterator[FakeProvider]:
    """Serve one while the block runs. HOLDFAST_WEBHOOK_HOSTS must list 127.0.0.1."""
    found = FakeProvider()
    async with serving({"/{path:.*}": found.answer}) as port:
        found.url = f"http://127.0.0.1:{port}"
        yield found
