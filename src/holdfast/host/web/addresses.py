"""Which addresses packs may reach: public ones, and those that the host permits.

Addresses are checked when a socket is about to be connected to them. A name that resolves to
another address the next time gains nothing, because nothing is resolved after the check.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.model.addresses import Address, is_public

_PERMIT = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?")
_MOST_PORT = 65_535


class AddressRefused(OSError):
    """A socket would be connected to an address that packs may not reach."""


@dataclass(frozen=True, slots=True)
class _Permit:
    network: Any
    port: int | None

    def covers(self, address: Address, port: int) -> bool:
        return address in self.network and self.port in {None, port}


class Addresses:
    """The addresses that packs may reach."""

    def __init__(self, allow_private: Iterable[str] = ()) -> None:
        """`allow_private` permits further ones: `127.0.0.1:8080`, `10.1.0.0/16`, `[::1]:80`."""
        self._permits = [_permit(text) for text in allow_private]

    def check(self, host: str, port: int) -> None:
        """Refuse an address; raises AddressRefused. Whatever is not an address is refused."""
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            # Such as `127.1`, which the system would still connect to.
            raise AddressRefused("not an address") from None
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        if not is_public(address) and not any(one.covers(address, port) for one in self._permits):
            raise AddressRefused("not a public address")

    def socket(self, info: tuple[Any, ...]) -> socket.socket:
        """Make a socket for an address that may be reached; raises AddressRefused."""
        family, kind, protocol, _, address = info
        self.check(str(address[0]), int(address[1]))
        return socket.socket(family, kind, protocol)


def _permit(text: str) -> _Permit:
    match = _PERMIT.fullmatch(text)
    try:
        network = ip_network(match[1] or match[2]) if match else None
    except ValueError:
        network = None
    port = int(match[3]) if match and match[3] else None
    if network is None or (port is not None and not 0 < port <= _MOST_PORT):
        message = f"allow_private: `{text}` is not an address or a network, with :PORT or without"
        raise InvalidInput(message, field="allow_private")
    return _Permit(network, port)
