"""Which addresses packs may reach."""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput
from holdfast.host.web.addresses import Addresses, AddressRefused

PUBLIC = (
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700::1111",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
)
REFUSED = (
    "0.0.0.0",  # noqa: S104 - refused here
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "fc00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "5f00::1",
    # The system connects to these, although they are not addresses by the book.
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "localhost",
    "",
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    """Addresses of the Internet are allowed, however they are written."""
    Addresses().check(address, 443)


@pytest.mark.parametrize("address", REFUSED)
def test_other_addresses_are_refused(address: str) -> None:
    """Local, private, reserved and multicast addresses are refused, also inside others."""
    with pytest.raises(AddressRefused):
        Addresses().check(address, 443)


@pytest.mark.parametrize(
    ("permit", "address", "port", "is_permitted"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "::ffff:127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 8081, False),
        ("127.0.0.1:8080", "127.0.0.2", 8080, False),
        ("10.1.0.0/16", "10.1.2.3", 1, True),
        ("10.1.0.0/16", "10.2.2.3", 1, False),
        ("[::1]:80", "::1", 80, True),
        ("[fd00::/8]", "fd12::1", 80, True),
        ("[::1]:80", "127.0.0.1", 80, False),
    ],
)
def test_the_host_permits_addresses(
    permit: str, address: str, port: int, *, is_permitted: bool
) -> None:
    """A permit is for an address or a network, and for a port if it names one."""
    addresses = Addresses([permit])
    if is_permitted:
        addresses.check(address, port)
    else:
        with pytest.raises(AddressRefused):
            addresses.check(address, port)


@pytest.mark.parametrize(
    "permit", ["", "localhost", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "::1", "[::1", "*"]
)
def test_a_permit_that_says_nothing_is_refused(permit: str) -> None:
    """A permit that is not an address or a network is an error, not a silent nothing."""
    with pytest.raises(InvalidInput):
        Addresses([permit])
