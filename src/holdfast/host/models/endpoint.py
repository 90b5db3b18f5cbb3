"""One call of a model: the request, the answer as it arrives, and what can go wrong."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from yarl import URL

from holdfast.host.flows.runners import NodeFailed
from holdfast.host.models.answers import Completion
from holdfast.host.models.events import events
from holdfast.host.packs.definition import Model
from holdfast.host.web.client import Reply, Request, Web
from holdfast.host.web.nodes import BUSY, busy

#: How large an answer may be on the wire; each word of it is an event of some hundred bytes.
ANSWER_BYTES = 8 << 20
_DONE = "[DONE]"
#: Some providers use it for what others call 503.
_OVERLOADED = 529
_DENIED = frozenset({401, 403})
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")

Show = Callable[[str], Awaitable[None]]


class Endpoint:
    """The chat completions of a model."""

    def __init__(self, web: Web, model: Model) -> None:
        self._web = web
        self._model = model
        url = URL(model.base_url)
        self._url = model.base_url.rstrip("/") + "/chat/completions"
        self._hosts = (f"{url.host}:{url.port}",)

    async def ask(
        self, body: dict[str, Any], key: str, timeout_ms: int, answer: Completion, show: Show
    ) -> None:
        """Ask the model; its answer grows as it arrives. Raises NodeFailed."""
        request = Request(
            method="POST",
            url=self._url,
            headers={"Content-Type": "application/json", "Accept": "text/event-stream"},
            secret_headers={"Authorization": f"Bearer {key}"},
            body=msgspec.json.encode(
                {
                    **body,
                    "model": self._model.model,
                    "stream": True,
                    "stream_options": {"include_usage": True},
                }
            ),
            timeout_ms=timeout_ms,
            most_bytes=ANSWER_BYTES,
            redirects=0,
        )
        async with self._web.open(request, self._hosts) as reply:
            await self._check(reply)
            if reply.headers.get("content-type", "").startswith("application/json"):
                # A server that does not stream.
                new = answer.add(await reply.read())
                answer.is_whole = True
                if new:
                    await show(new)
                return
            async for data in events(reply.parts()):
                if data == _DONE:
                    answer.is_whole = True
                    return
                new = answer.add(data)
                if new:
                    await show(new)
        if not answer.is_whole:
            message = f"the model {self._model.name} broke off"
            raise NodeFailed("model_bad_response", message, retryable=True)

    async def _check(self, reply: Reply) -> None:
        status, name = reply.status, self._model.name
        if status == 200:  # noqa: PLR2004 - OK
            return
        if status in BUSY or status == _OVERLOADED:
            message = f"the model {name} is busy ({status})"
            raise busy("model_busy", message, status, reply.headers)
        if status in _DENIED:
            message = f"the model {name} refuses the key {self._model.key_secret} ({status})"
            raise NodeFailed("model_denied", message, details={"status": status})
        if status == 404:  # noqa: PLR2004 - not found
            message = f"the endpoint of {name} has no model {self._model.model}"
            raise NodeFailed("model_not_found", message, details={"status": status})
        why = await _reason(reply)
        message = f"the model {name} answered {status}" + (f" ({why})" if why else "")
        is_theirs = status >= 500  # noqa: PLR2004 - errors of servers
        raise NodeFailed(
            "model_failed" if is_theirs else "model_refused",
            message,
            retryable=is_theirs,
            details={"status": status, "reason": why},
        )


async def _reason(reply: Reply) -> str:
    """Return the code of an error. Its sentence may repeat anything, such as the key."""
    try:
        found = msgspec.json.decode(await reply.read())["error"]
        words = [found.get("code"), found.get("type")]
    except (NodeFailed, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return ""
    return next((word for word in words if isinstance(word, str) and _WORD.fullmatch(word)), "")
