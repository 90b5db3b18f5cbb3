"""Calls over HTTP: problems as errors, lost answers asked for again."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from holdfast import errors
from holdfast.engine.tracing import current_traceparent
from holdfast.errors import HoldfastError, OutcomeUnknown, StoreIncompatible, StoreUnavailable

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
_CONNECT_S = 5.0
_CONNECTIONS = 200
#: A live stream says something every 15 s; when it is silent for this long, it is lost.
_SILENCE_S = 40.0
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_MEMBERS = ("type", "title", "status", "detail", "code", "retryable")

_NONE = HoldfastError("no problem")

BY_CODE: dict[str, type[HoldfastError]] = {
    kind.code: kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, HoldfastError)
}


def path(*parts: str) -> str:
    """Return the path of a thing; its names may contain anything."""
    return "/v1/" + "/".join(quote(part, safe=":@~") for part in parts)


def headers(key: str | None) -> dict[str, str]:
    """Return the headers of every call."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def problem_of(response: httpx.Response) -> HoldfastError:
    """Make the error of an answer that is a problem."""
    try:
        problem = msgspec.json.decode(response.content, type=dict[str, Any])
        context = {name: value for name, value in problem.items() if name not in _MEMBERS}
        kind = BY_CODE.get(problem["code"], HoldfastError)
        return kind(str(problem["detail"]), **context)
    except (msgspec.DecodeError, KeyError):
        message = f"{response.request.url} answered {response.status_code} without saying why"
        return StoreUnavailable(message)


def refusal_of(item: Mapping[str, Any]) -> HoldfastError:
    """Make the error of an item of a batch."""
    kind = BY_CODE.get(str(item["code"]), HoldfastError)
    context = {name: value for name, value in item.items() if name in {"state", "id"}}
    return kind(str(item.get("detail", item["code"])), **context)


class Http:
    """A connection pool to one server, or several behind one name."""

    def __init__(self, url: str, key: str | None, timeout_ms: int) -> None:
        self.url = url.rstrip("/")
        self.key = key
        self._timeout_s = timeout_ms / 1000
        self._client = httpx.AsyncClient(
            base_url=self.url,
            headers=headers(key),
            timeout=httpx.Timeout(self._timeout_s, connect=_CONNECT_S, pool=None),
            limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=50),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def get(self, where: str, **query: Any) -> Any:
        """Read something; absent parameters are left out."""
        response = await self.send("GET", where, query=query)
        return msgspec.json.decode(response.content)

    async def put(self, where: str, body: Any) -> Any:
        """Set something."""
        return _decoded(await self.send("PUT", where, body=body))

    async def post(self, where: str, body: Any = None, *, once: bool = False) -> Any:
        """Do something; `once` means that it must not be sent twice."""
        return _decoded(await self.send("POST", where, body=body, once=once))

    async def delete(self, where: str) -> None:
        """Remove something."""
        await self.send("DELETE", where)

    async def send(
        self,
        method: str,
        where: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        once: bool = False,
        wait_s: float = 0.0,
    ) -> httpx.Response:
        """Send a call until it is answered or its time is over; raises the problem.

        `wait_s` is how long the server may wait on purpose.
        """
        request = self._client.build_request(
            method,
            where,
            content=None if body is None else msgspec.json.encode(body),
            params={name: value for name, value in (query or {}).items() if value is not None},
            headers=_trace(),
            timeout=httpx.Timeout(self._timeout_s + wait_s, connect=_CONNECT_S),
        )
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s + wait_s
        pause = _FIRST_PAUSE_S
        maybe_done = False
        while True:
            response, problem = await self._try(request, maybe_done=maybe_done)
            if response is not None:
                return response
            maybe_done = maybe_done or isinstance(problem, OutcomeUnknown)
            passes = _will_pass(problem) and not (once and isinstance(problem, OutcomeUnknown))
            if not passes or loop.time() + pause > deadline:
                raise problem
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    async def follow(self, where: str, **query: Any) -> httpx.Response:
        """Open a live stream; whoever gets it closes it. Raises the problem."""
        request = self._client.build_request(
            "GET",
            where,
            params=query,
            headers={"Accept": "text/event-stream", **_trace()},
            timeout=httpx.Timeout(_SILENCE_S, connect=_CONNECT_S),
        )
        try:
            response = await self._client.send(request, stream=True)
            if not response.is_success:
                await response.aread()
                raise problem_of(response)
        except httpx.HTTPError as error:
            raise self._trouble(error, maybe_done=False) from error
        return response

    async def _try(
        self, request: httpx.Request, *, maybe_done: bool
    ) -> tuple[httpx.Response | None, HoldfastError]:
        """Send a call once: a success, or the problem."""
        if self._client.is_closed:
            raise StoreUnavailable("the client is closed")
        try:
            response = await self._client.send(request)
        except httpx.HTTPError as error:
            sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            may_be = (maybe_done or sent) and request.method != "GET"
            return None, self._trouble(error, maybe_done=may_be)
        if response.is_success:
            return response, _NONE
        problem = problem_of(response)
        if maybe_done:
            # It may be due to our own first call.
            problem.context.setdefault("repeated", True)
        return None, problem

    def _trouble(self, error: httpx.HTTPError, *, maybe_done: bool) -> HoldfastError:
        text = str(error) or type(error).__name__
        if _UNTRUSTED in text:
            message = f"{self.url} is not trusted ({text}); SSL_CERT_FILE names the CA to trust"
            return StoreIncompatible(message)
        if maybe_done:
            return OutcomeUnknown(f"no answer of {self.url} in time; it may have happened ({text})")
        return StoreUnavailable(f"{self.url} cannot be reached ({text})")


def _trace() -> dict[str, str]:
    """Return the header that makes the server's work part of our trace."""
    traceparent = current_traceparent()
    return {} if traceparent is None else {"traceparent": traceparent}


def _decoded(response: httpx.Response) -> Any:
    return msgspec.json.decode(response.content) if response.content else None


def _will_pass(problem: HoldfastError) -> bool:
    return isinstance(problem, errors.Refused | StoreUnavailable | OutcomeUnknown)
