"""HTTP calls: turn problems into errors, and retry lost answers where that is safe."""

from __future__ import annotations

import asyncio
import inspect
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from holdfast import errors
from holdfast.errors import (
    HoldfastError,
    InvalidInput,
    OutcomeUnknown,
    StoreIncompatible,
    StoreUnavailable,
)
from holdfast.model import bounds
from holdfast.model.ids import new_id
from holdfast.outages import Outage, will_pass
from holdfast.tracing import current_traceparent

#: As a tenant, it lists everything that the key may see.
EVERY_TENANT = "*"
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
_CONNECT_S = 5.0
_CONNECTIONS = 200
#: A live stream sends a ping every 15 s; after this long without one, it is lost.
_SILENCE_S = 40.0
#: The connection was lost or never established.
LOST = (aiohttp.ClientError, TimeoutError, OSError)
#: Nothing was sent.
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
#: Problems that do not tell whether an earlier try of the same call took effect.
_NO_ANSWERS = (
    StoreUnavailable,
    errors.StoreFull,
    errors.RateLimited,
    errors.StoreFault,
    errors.InternalError,
    StoreIncompatible,
)
_NO_ANSWER_CODES = frozenset(
    kind.code
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, _NO_ANSWERS)
)
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_MEMBERS = ("type", "title", "status", "detail", "code", "retryable")

T = TypeVar("T")
Answer_co = TypeVar("Answer_co", covariant=True)

BY_CODE: dict[str, type[HoldfastError]] = {
    kind.code: kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, HoldfastError)
}


def path(*parts: str) -> str:
    """Return the path of an object; its names may contain any characters."""
    return "/v1/" + "/".join(quote(part, safe=":@~") for part in parts)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a server."""

    status: int
    content: bytes
    content_type: str
    #: Whether an earlier try may have taken effect.
    repeated: bool

    @property
    def created(self) -> bool:
        """Whether the call created the object."""
        return self.status == HTTPStatus.CREATED

    def decode(self) -> Any:
        """Return the content; None if it is empty."""
        content = msgspec.json.decode(self.content) if self.content else None
        if self.repeated and isinstance(content, dict):
            for item in content.get("items", ()):
                if item.get("code") in _NO_ANSWER_CODES:
                    item["code"] = OutcomeUnknown.code
        return content


def refusal_of(item: Mapping[str, Any], **about: str) -> HoldfastError:
    """Return the error of an item of a batch; `about` is the context of the whole batch."""
    kind = BY_CODE.get(str(item["code"]), HoldfastError)
    context = {name: value for name, value in item.items() if name in {"state", "id"}}
    return kind(str(item.get("detail", item["code"])), **about, **context)


class Attempt(Protocol[Answer_co]):
    """Sends a call once; `again` if an earlier try may have taken effect."""

    def __call__(self, *, again: bool) -> Awaitable[Answer_co]:
        """Send it."""
        ...


class _Page(msgspec.Struct):
    next_cursor: str | None


class Http:
    """Connections to one server, or to several behind one name."""

    def __init__(
        self,
        url: str,
        key: str | None,
        timeout_ms: int,
        patience_ms: int,
        away: Outage | None = None,
        *,
        tenant: str | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.key = key
        #: The tenant that an operator key acts for; a key of one tenant acts for that one.
        self.tenant = tenant
        self._timeout_s = timeout_ms / 1000
        #: How long a call that cannot have taken effect is retried.
        self._patience_s = patience_ms / 1000
        self._connect_s = min(_CONNECT_S, self._patience_s)
        #: Created by the first call, in its event loop.
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        try:
            given = URL(self.url)
        except ValueError as error:
            raise InvalidInput(f"url: is not that of a server ({error})", field="url") from None
        if not given.host or given.query_string or given.fragment:
            raise InvalidInput("url: must be http://HOST:PORT or https://HOST:PORT", field="url")
        if key is not None and given.user is not None:
            raise InvalidInput("url: a login cannot be combined with an API key", field="url")
        if key is not None and not (key.isascii() and key.isprintable()):
            raise InvalidInput("key: has characters that no API key has", field="key")
        #: The URL for errors and logs, without a login.
        self._shown = str(given.with_user("***").with_password(None)) if given.user else self.url
        #: Shared by all users of the server in this process.
        self.away: Outage = away or Outage(
            f"{self._shown} does not answer as it should (%s); calls are retried",
            f"{self._shown} answers again, after %.1f s",
        )

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def get(self, where: str, **query: Any) -> Any:
        """Send a GET; absent parameters are left out."""
        return (await self.send("GET", where, query=query)).decode()

    async def pages(self, where: str, **query: Any) -> AsyncIterator[bytes]:
        """Yield all pages of a list, as large as they can be."""
        cursor: str | None = None
        while True:
            part = {**query, "limit": bounds.PAGE_ITEMS, "cursor": cursor}
            data = (await self.send("GET", where, query=part)).content
            yield data
            cursor = msgspec.json.decode(data, type=_Page).next_cursor
            if cursor is None:
                return

    async def items(self, where: str, **query: Any) -> list[Any]:
        """Read a whole list."""
        pages = self.pages(where, **query)
        return [item async for page in pages for item in msgspec.json.decode(page)["items"]]

    async def put(self, where: str, body: Any) -> Any:
        """Send a PUT."""
        return (await self.send("PUT", where, body=body)).decode()

    async def post(self, where: str, body: Any = None, *, once: bool = False) -> Any:
        """Send a POST; with `once` it must not be sent twice."""
        return (await self.send("POST", where, body=body, once=once)).decode()

    async def delete(self, where: str) -> None:
        """Send a DELETE."""
        await self.send("DELETE", where)

    async def send(
        self,
        method: str,
        where: str,
        *,
        body: Any = None,
        content: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        once: bool = False,
        wait_s: float = 0.0,
    ) -> Reply:
        """Send a call until it is answered or its time is over; raise the problem as an error.

        `wait_s` is how long the server may wait on purpose; `content` is a body that is not JSON.
        """
        time_s = self._timeout_s + wait_s
        headers = {"Content-Type": "application/json" if content is None else "application/zip"}
        if method != "GET":
            # By this the server recognises a call that is sent again.
            headers["Idempotency-Key"] = new_id()
        if body is not None:
            content = msgspec.json.encode(body)

        async def attempt(*, again: bool) -> Reply:
            response = await self._ask(
                method, self._url(where, query or {}), headers, content, silence_s=time_s
            )
            return await _read(response, repeated=again)

        return await self._persist(attempt, time_s, reads=method == "GET", once=once)

    async def follow(self, where: str, **query: Any) -> aiohttp.ClientResponse:
        """Open a live stream, with the retries of any call. The caller closes it."""
        headers = {"Accept": "text/event-stream"}

        async def attempt(*, again: bool) -> aiohttp.ClientResponse:
            del again
            response = await self._ask(
                "GET", self._url(where, query), headers, None, silence_s=_SILENCE_S
            )
            if not _is_success(response):
                await _read(response)
            return response

        return await self._persist(attempt, self._timeout_s, reads=True)

    async def _ask(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        content: bytes | None,
        *,
        silence_s: float,
    ) -> aiohttp.ClientResponse:
        """Send a call once."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=_CONNECTIONS,
                    # Aiohttp creates its own at import and reads SSL_CERT_FILE only then.
                    ssl=ssl.create_default_context() if self.url.startswith("https:") else True,
                ),
                headers={} if self.key is None else {"Authorization": f"Bearer {self.key}"},
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=True,
            )
        return await self._session.request(
            method,
            url,
            data=content,
            headers={**headers, **_trace()},
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(sock_connect=self._connect_s, sock_read=silence_s),
        )

    def _url(self, where: str, query: Mapping[str, Any]) -> URL:
        given = urlencode({name: value for name, value in query.items() if value is not None})
        # A slash inside a name stays as `path` encoded it.
        return URL(f"{self.url}{where}?{given}" if given else f"{self.url}{where}", encoded=True)

    async def _persist(
        self,
        attempt: Attempt[T],
        time_s: float,
        *,
        reads: bool,
        once: bool = False,
    ) -> T:
        """Retry until there is an answer, as long as that is safe and in time."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + time_s
        pause = _FIRST_PAUSE_S
        maybe_done = False
        while True:
            if self._closed:
                raise StoreUnavailable("the client is closed")
            started = loop.time()
            try:
                answer = await attempt(again=maybe_done)
            except HoldfastError as error:
                problem = self._refused(error, maybe_done=maybe_done)
                passes = will_pass(error)
            except LOST as error:
                sent = maybe_done or not isinstance(error, _NOT_SENT)
                problem = self._trouble(error, maybe_done=sent and not reads)
                passes = will_pass(problem)
                # A server that hangs was away all along; one that disconnected, only since then.
                took_s = loop.time() - started if isinstance(error, TimeoutError) else 0.0
                self.away.failed(problem.message, took_s=took_s)
            else:
                self.away.worked()
                return answer
            maybe_done = maybe_done or isinstance(problem, OutcomeUnknown)
            if not maybe_done:
                give_up_at = min(give_up_at, loop.time() + self._patience_s)
            asked_s = int(problem.context.get("retry_after_ms", 0)) / 1000
            passes = passes and not (once and maybe_done)
            if not passes or loop.time() + max(pause, asked_s) > give_up_at:
                raise problem
            await asyncio.sleep(asked_s + pause * random.uniform(0.5, 1))  # noqa: S311
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _refused(self, error: HoldfastError, *, maybe_done: bool) -> HoldfastError:
        """Return the error for a problem, after tries that may have taken effect."""
        if isinstance(error, StoreUnavailable | OutcomeUnknown):
            self.away.failed(error.message)
        else:
            self.away.worked()
        if not maybe_done:
            return error
        if isinstance(error, _NO_ANSWERS) or type(error) is errors.Unauthorized:
            message = (
                f"{self._shown} may have completed the call before it answered: {error.message}"
            )
            return OutcomeUnknown(message, **error.context)
        # The first try of this call may have caused it.
        error.context.setdefault("repeated", True)
        return error

    def _trouble(self, error: Exception, *, maybe_done: bool) -> HoldfastError:
        text = str(error) or type(error).__name__
        if isinstance(getattr(error, "os_error", None), ConnectionRefusedError):
            text = "connection refused"
        if _UNTRUSTED in text:
            message = f"{self._shown} is not trusted ({text}); SSL_CERT_FILE names the CA to trust"
            return StoreIncompatible(message)
        if maybe_done:
            return OutcomeUnknown(
                f"no answer from {self._shown} in time; the call may have happened ({text})"
            )
        return StoreUnavailable(f"{self._shown} cannot be reached ({text})")


async def _read(response: aiohttp.ClientResponse, *, repeated: bool = False) -> Reply:
    """Read an answer to its end; raise its problem as an error."""
    async with response:
        content = await response.read()
        if not _is_success(response):
            raise _problem_of(response, content)
        content_type = response.headers.get("content-type", "")
        return Reply(response.status, content, content_type, repeated)


def _is_success(response: aiohttp.ClientResponse) -> bool:
    return HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES


def _problem_of(response: aiohttp.ClientResponse, content: bytes) -> HoldfastError:
    """Return the error for an answer that is a problem."""
    try:
        problem = msgspec.json.decode(content, type=dict[str, Any])
        context = {name: value for name, value in problem.items() if name not in _MEMBERS}
        kind = BY_CODE.get(problem["code"], HoldfastError)
        return kind(str(problem["detail"]), **context)
    except (msgspec.DecodeError, KeyError):
        message = f"{response.url} answered {response.status} without a reason"
        return StoreUnavailable(message)


def _trace() -> dict[str, str]:
    """Return the header that makes the server's work part of the caller's trace."""
    traceparent = current_traceparent()
    return {} if traceparent is None else {"traceparent": traceparent}
