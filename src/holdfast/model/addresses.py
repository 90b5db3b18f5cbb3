"""Addresses of the Internet, as opposed to those of a machine or its network."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
#: IPv6 addresses of the Internet; all others are local, reserved or not assigned.
_GLOBAL = IPv6Network("2000::/3")
#: A gateway translates these to IPv4 addresses, which are the last part of the address.
_TRANSLATED = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Return whether an address belongs to the Internet, also if it hides one that does not."""
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    hidden = _hidden(address)
    if hidden is not None:
        return is_public(hidden)
    return address.is_global and not address.is_multicast and address in _GLOBAL


def _hidden(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address to which packets to an IPv6 address are delivered."""
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour
