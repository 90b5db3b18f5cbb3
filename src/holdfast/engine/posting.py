"""POSTs to addresses that users chose: public ones, and hosts that the environment allows.

A server must not become a way into the network that it runs in. So a host that resolves to a
private, loopback or link-local address is refused, unless HOLDFAST_WEBHOOK_HOSTS lists it. The
check is in the resolver: the address that was checked is the address that is called.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import os
from collections.abc import Mapping
from functools import lru_cache
from socket import AddressFamily

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override
from yarl import URL

from holdfast.channels import Response
from holdfast.model.addresses import is_public

#: Hosts that may have addresses that are not public, with `*`, separated by commas.
HOSTS_VARIABLE = "HOLDFAST_WEBHOOK_HOSTS"
_CALL_S = 20.0
_CONNECT_S = 5.0
#: What is read of an answer.
_ANSWER_BYTES = 64 << 10


class NotDelivered(Exception):
    """A receiver was not reached, or refused the message."""

    def __init__(self, problem: str, *, again: bool = True) -> None:
        super().__init__(problem)
        #: Whether another try makes sense.
        self.again: bool = again


class _PublicOnly(AbstractResolver):
    """Resolves names, and refuses addresses that are not public."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self._allowed = allowed
        self._resolver = aiohttp.ThreadedResolver()

    @override
    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AddressFamily.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for one in found:
            check_address(host, one["host"], self._allowed)
        return found

    @override
    async def close(self) -> None:
        await self._resolver.close()


@lru_cache
def is_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    """Whether the environment lists a host."""
    return any(fnmatch.fnmatchcase(host.lower(), pattern) for pattern in allowed)


def check_address(host: str, address: str, allowed: tuple[str, ...]) -> None:
    """Raise NotDelivered if the address of a host may not be called."""
    if is_allowed(host, allowed):
        return
    # An IPv6 address may carry its zone.
    if not is_public(ipaddress.ip_address(address.partition("%")[0])):
        problem = f"{host} has an address that is not public; {HOSTS_VARIABLE} can allow it"
        raise NotDelivered(problem, again=False)


class Poster:
    """Sends messages; opened for as long as it is used."""

    def __init__(self, *, most: int = 100, call_s: float = _CALL_S) -> None:
        """`most` calls run at once, and each may take `call_s`."""
        listed = os.environ.get(HOSTS_VARIABLE, "").lower()
        self._allowed = tuple(host.strip() for host in listed.split(",") if host.strip())
        connector = aiohttp.TCPConnector(
            resolver=_PublicOnly(self._allowed), use_dns_cache=False, limit=most
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=call_s, connect=_CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Send a message; return the status of its receiver, or raise NotDelivered."""
        status = (await self.send(url, headers, body)).status
        if not 200 <= status < 300:  # noqa: PLR2004 - the statuses of success
            problem = f"{URL(url).raw_host} answered with {status}"
            raise NotDelivered(problem, again=status != _GONE)
        return status

    async def send(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        content_type: str = "application/json",
        has_secrets: bool = False,
    ) -> Response:
        """Send a message; return the answer, whatever it is, or raise NotDelivered.

        One with secrets goes over TLS, except to hosts that the environment allows.
        """
        # As the call reads it: digits of other scripts are an address, too.
        try:
            target = URL(url)
        except ValueError as error:
            raise NotDelivered("its URL cannot be called", again=False) from error
        host = target.raw_host or ""
        if has_secrets and target.scheme != "https" and not is_allowed(host, self._allowed):
            raise NotDelivered(f"{host} is not called without TLS", again=False)
        try:
            # The resolver is not asked about a host that is an address itself.
            address = str(ipaddress.ip_address(host.partition("%")[0]))
        except ValueError:
            pass
        else:
            check_address(host, address, self._allowed)
        try:
            async with self._session.post(
                target,
                data=body,
                headers={**headers, "Content-Type": content_type},
                # A redirect would lead to an address that the caller did not choose.
                allow_redirects=False,
            ) as response:
                answer = await response.content.read(_ANSWER_BYTES)
                names = {name.lower(): value for name, value in response.headers.items()}
                return Response(status=response.status, headers=names, body=answer)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise NotDelivered(f"{host} cannot be reached: {type(error).__name__}") from error


_GONE = 410
