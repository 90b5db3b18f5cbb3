"""Runs `http` nodes."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.host.flows.runners import HttpCall, NodeFailed, Secret
from holdfast.host.grants import Grant
from holdfast.host.vault import Vault
from holdfast.host.web.client import Request, Response, Web

#: The server is busy or away: a later attempt may succeed.
BUSY = frozenset({429, 502, 503, 504})
#: How long a server may ask callers to wait.
MOST_RETRY_AFTER_MS = 3_600_000
_IDEMPOTENT = frozenset({"GET", "HEAD"})
_JSON = "application/json"


class HttpNodes:
    """Calls web servers for `http` nodes, each within the grant of its flow's pack."""

    def __init__(self, web: Web, vault: Vault, grants: Mapping[str, Grant]) -> None:
        self._web = web
        self._vault = vault
        self._grants = grants

    async def __call__(self, call: HttpCall) -> dict[str, Any]:
        """Return the status, the headers and the body; raises NodeFailed."""
        grant = self._grants[call.about.flow]
        response = await self._web.send(await self._request(call, grant), grant.hosts)
        if response.status in BUSY:
            raise busy("http_busy", f"the server answered {response.status}", response.status,
                       response.headers)  # fmt: skip
        return {
            "status": response.status,
            "headers": response.headers,
            "body": _body(response),
        }

    async def _request(self, call: HttpCall, grant: Grant) -> Request:
        headers: dict[str, str] = {}
        secrets: dict[str, str] = {}
        for name, value in call.headers.items():
            if isinstance(value, Secret):
                secrets[name] = await self._vault.reveal(value.name, grant, call.about)
            else:
                headers[name] = value
        given = {name.lower() for name in (*headers, *secrets)}
        body = None
        if call.has_body:
            body = msgspec.json.encode(call.json)
            if "content-type" not in given:
                headers["Content-Type"] = _JSON
        if call.method not in _IDEMPOTENT and "idempotency-key" not in given:
            headers["Idempotency-Key"] = call.about.idempotency_key
        return Request(
            method=call.method,
            url=call.url,
            headers=headers,
            secret_headers=secrets,
            body=body,
            timeout_ms=call.about.timeout_ms,
        )


def busy(code: str, message: str, status: int, headers: Mapping[str, str]) -> NodeFailed:
    """Return the failure of a call that may succeed later, when the server says."""
    return NodeFailed(
        code,
        message,
        retryable=True,
        retry_after_ms=retry_after_ms(headers),
        details={"status": status},
    )


def retry_after_ms(headers: Mapping[str, str]) -> int:
    """Return how long a server asks callers to wait: seconds, or until a date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:12])
    else:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0
    return int(min(max(0.0, seconds * 1000), MOST_RETRY_AFTER_MS))


def _body(response: Response) -> Any:
    """Return the body: JSON if the server says that it is, else text."""
    kind, _, rest = response.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if response.body and (kind == _JSON or kind.endswith("+json")):
        try:
            return msgspec.json.decode(response.body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise NodeFailed("http_bad_response", "the response is not JSON, as it says") from None
    charset = rest.partition("charset=")[2].partition(";")[0].strip(' "') or "utf-8"
    try:
        return response.body.decode(charset, "replace")
    except (LookupError, ValueError):
        # It is unknown, or Python has it for other uses.
        return response.body.decode("utf-8", "replace")
