"""Calls of web servers on behalf of packs.

Every hop is checked by itself: its host must be on the list, and its address public. Nothing is
kept between calls but connections: no cookies, no credentials, no proxies of the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from holdfast.host.flows.runners import NodeFailed
from holdfast.host.web import bodies, requests
from holdfast.host.web.addresses import Addresses, AddressRefused
from holdfast.host.web.hosts import Hosts

#: How large a response may be, unless the caller says otherwise.
RESPONSE_BYTES = 262_144
#: How long the beginning of a connection may take, TLS included.
CONNECT_S = 10.0
_CONNECTIONS = 256
_PER_HOST = 32
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call of a web server."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Headers with secrets: no server but the first gets them.
    secret_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    #: How long all of it may take, redirects and the body included.
    timeout_ms: int
    most_bytes: int = RESPONSE_BYTES
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Response:
    """A response that was read to its end; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Reply:
    """A response whose body is yet to be read."""

    def __init__(self, response: aiohttp.ClientResponse, most: int) -> None:
        self._response = response
        self._most = most
        self.status: int = response.status
        self.headers: dict[str, str] = {}
        for name, value in response.headers.items():
            low = name.lower()
            self.headers[low] = f"{self.headers[low]}, {value}" if low in self.headers else value

    def parts(self) -> AsyncIterator[bytes]:
        """Return the parts of the body as they arrive; raises NodeFailed if it is too large."""
        encoding = self.headers.get("content-encoding", "")
        return bodies.unpacked(self._response.content.iter_any(), encoding, self._most)

    async def read(self) -> bytes:
        """Return the whole body."""
        length = self.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._most:
            raise bodies.too_large(self._most)
        return b"".join([part async for part in self.parts()])


class Web:
    """The web, within what a host permits. Close it in the end."""

    def __init__(
        self, *, allow_private: Iterable[str] = (), resolver: AbstractResolver | None = None
    ) -> None:
        """Permit addresses that are not public, such as `127.0.0.1:8080` in a test."""
        self._addresses = Addresses(allow_private)
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=_CONNECTIONS,
                limit_per_host=_PER_HOST,
                resolver=self._resolver,
                socket_factory=self._addresses.socket,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            )
        return self._session

    async def send(self, request: Request, allowed: Hosts) -> Response:
        """Send a request and read the response; raises NodeFailed."""
        async with self.open(request, allowed) as reply:
            return Response(reply.status, reply.headers, await reply.read())

    @contextlib.asynccontextmanager
    async def open(self, request: Request, allowed: Hosts) -> AsyncIterator[Reply]:
        """Send a request, and give its response while the block runs; raises NodeFailed."""
        requests.check(request.method, {**request.headers, **request.secret_headers})
        hosts = tuple(allowed)
        url = requests.target(request.url, hosts)
        with _failures(url):
            async with asyncio.timeout(request.timeout_ms / 1000):
                for _ in range(request.redirects + 1):
                    async with self._hop(request, url) as response:
                        location = response.headers.get("Location")
                        if response.status not in _REDIRECTS or location is None:
                            yield Reply(response, request.most_bytes)
                            return
                        found = requests.redirected(url, location, hosts)
                        request = _followed(request, response.status, url, found)
                        url = found
        raise NodeFailed("http_denied", f"{url.host} redirects too often")

    @contextlib.asynccontextmanager
    async def _hop(self, request: Request, url: URL) -> AsyncIterator[aiohttp.ClientResponse]:
        response = await self._opened().request(
            request.method,
            url,
            headers={
                "User-Agent": "holdfast",
                **request.headers,
                **request.secret_headers,
                "Accept-Encoding": bodies.ENCODINGS,
            },
            data=request.body,
            allow_redirects=False,
        )
        is_read = False
        try:
            yield response
            is_read = response.content.is_eof()
        finally:
            if is_read:
                response.release()
            else:
                # The rest of a body may never end.
                response.close()


def _followed(request: Request, status: int, before: URL, after: URL) -> Request:
    """Return the request that follows a redirect."""
    if before.origin() != after.origin():
        request = replace(
            request,
            headers=requests.without_credentials(request.headers),
            secret_headers={},
        )
    if status == 303 or (status in {301, 302} and request.method == "POST"):  # noqa: PLR2004
        headers = requests.without_content(request.headers)
        return replace(request, method="GET", body=None, headers=headers)
    return request


@contextlib.contextmanager
def _failures(url: URL) -> Iterator[None]:
    """Raise errors of calls as failures, without the URL's path, which may hold a secret."""
    host = url.host
    try:
        yield
    except TimeoutError:
        message = f"{host} did not answer in time"
        raise NodeFailed("http_timeout", message, retryable=True) from None
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, AddressRefused):
            raise NodeFailed("http_denied", f"{host} has no public address") from None
        retryable = not isinstance(error, aiohttp.ClientSSLError)
        message = f"{host} cannot be reached"
        raise NodeFailed("http_unreachable", message, retryable=retryable) from None
    except aiohttp.InvalidURL:
        raise NodeFailed("http_invalid", "the URL is not valid") from None
    except (aiohttp.ClientError, OSError):
        message = f"the connection to {host} broke"
        raise NodeFailed("http_unreachable", message, retryable=True) from None
