"""HTTP components: servers that the pack names."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from holdfast.host.components.failures import failed, reported
from holdfast.host.components.limits import Limits
from holdfast.host.components.prepared import Prepared
from holdfast.host.components.slots import Slots
from holdfast.host.flows.runners import NodeFailed
from holdfast.host.web.client import Request, Response, Web
from holdfast.host.web.nodes import BUSY, busy

#: What failures of the web mean for a component.
_CODES = {
    "http_timeout": "component_timeout",
    "http_denied": "component_denied",
    "http_too_large": "component_output_too_large",
}
_PORTS = {"http": 80, "https": 443}


class WebRunner:
    """An HTTP component: each call is a POST of JSON to its URL."""

    def __init__(self, url: str, limits: Limits, web: Web, slots: Slots) -> None:
        self._url = url
        self.limits = limits
        self._web = web
        self._slots = slots
        parts = urlsplit(url)
        self._hosts = (f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}",)

    async def run(self, call: Prepared) -> bytes:
        """Send the call, and return the body of the response."""
        request = Request(
            method="POST",
            url=self._url,
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Idempotency-Key": call.about.idempotency_key,
            },
            body=call.envelope(),
            timeout_ms=call.timeout_ms,
            most_bytes=self.limits.output_bytes,
        )
        async with self._slots.taken(call.about.tenant, call.timeout_ms):
            try:
                response = await self._web.send(request, self._hosts)
            except NodeFailed as failure:
                code = _CODES.get(failure.code, "component_unreachable")
                raise NodeFailed(code, str(failure), retryable=failure.retryable) from None
        return _output(response)

    async def close(self) -> None:
        """Keep nothing: the web belongs to the host."""


def _output(response: Response) -> bytes:
    status = response.status
    if status in BUSY:
        message = f"the server answered {status}"
        raise busy("component_unreachable", message, status, response.headers)
    if 200 <= status < 300:  # noqa: PLR2004
        return response.body or b"null"
    try:
        raise reported(msgspec.json.decode(response.body)["error"])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, LookupError, TypeError):
        message = f"the server answered {status}"
        raise failed("component_failed", message, details={"status": status}) from None
