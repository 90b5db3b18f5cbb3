"""The settings of a server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InvalidInput
from holdfast.model import checks
from holdfast.model.files import NO_FILES, FileLimits
from holdfast.model.origins import check_origins
from holdfast.server.chat.doors import Door

DEFAULT_LISTEN = "127.0.0.1:8080"
_PORTS = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of a server."""

    host: str = "127.0.0.1"
    #: 0 takes a free port.
    port: int = 8080
    #: The most calls per second and API key; 0 for no limit.
    rate: int = 5_000
    #: The most concurrent long polls per tenant.
    most_waits: int = 2_000
    #: The most concurrent live streams per tenant.
    most_tails: int = 1_000
    #: A live stream ends after this long with a hint, and its client reconnects where it was.
    #: A client whose key was revoked cannot reconnect.
    tail_s: float = 3_600.0
    #: The origins whose pages may call the API; none by default.
    cors: tuple[str, ...] = ()
    #: The web chats that anyone may use; none by default.
    web_chats: tuple[Door, ...] = ()
    #: The origins whose pages may show a web chat in a frame.
    web_chat_origins: tuple[str, ...] = ()
    #: The most messages per second that web chats accept from one address.
    web_chat_rate: int = 10
    #: The files that web chats take; none by default.
    web_chat_files: FileLimits = NO_FILES
    #: Addresses or networks of proxies whose X-Forwarded-For header is trusted.
    trusted_proxies: tuple[str, ...] = ()
    #: Addresses or networks of peers that may send webhooks without naming an endpoint.
    trusted_peers: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    #: Whether other processes of this server serve the same port.
    is_shared: bool = False
    #: The folder in which these processes leave their metrics for each other.
    shared_metrics: Path | None = None
    #: Whether it runs for development, next to a worker or host of the developer.
    dev: bool = False
    #: Whether something starts this process again when it dies, as `holdfast dev` does.
    supervised: bool = False
    #: How long calls in flight may take to finish when the server stops.
    grace_s: float = 10.0

    def __post_init__(self) -> None:
        checks.integer("port", self.port, 0, _PORTS)
        checks.integer("rate", self.rate, 0, 1_000_000)
        checks.integer("max-waits", self.most_waits, 1, 1_000_000)
        checks.integer("max-tails", self.most_tails, 1, 1_000_000)
        checks.number("tail-life", self.tail_s, 0, 86_400)
        checks.number("grace_s", self.grace_s, 0, 3_600)
        for proxy in self.trusted_proxies:
            _check_network("trusted-proxy", proxy)
        for peer in self.trusted_peers:
            _check_network("trusted-peer", peer)
        check_origins("cors", self.cors)
        check_origins("web-chat-origin", self.web_chat_origins)
        checks.integer("web-chat-rate", self.web_chat_rate, 1, 1_000_000)
        if len({(door.env, door.name) for door in self.web_chats}) < len(self.web_chats):
            message = "web-chat: two of them have the same address"
            raise InvalidInput(message, field="web-chat")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidInput("TLS needs both a certificate and its key", field="tls")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def may_crash(self) -> bool:
        """Whether a caller may kill this process: only in development, and only from here."""
        return self.supervised and self.is_loopback

    def trusts(self, address: str) -> bool:
        """Whether the caller at an address is a trusted peer."""
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        # A listener for both versions shows addresses of IPv4 as those of IPv6.
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in ipaddress.ip_network(network) for network in self.trusted_peers)


def _check_network(field: str, text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        checks.refuse(field, "must be an address, or a network such as 10.0.0.0/8", text)


def parse_listen(text: str) -> tuple[str, int]:
    """Parse HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080."""
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not port.isdecimal() or int(port) > _PORTS:
        checks.refuse("listen", "must be HOST:PORT", text)
    return host, int(port)
