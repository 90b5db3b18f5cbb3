"""Store URLs.

embedded://PATH                    an embedded Valkey server with its data in the folder PATH
valkey://[user:pass@]host[:port]   a Valkey server; valkeys:// with TLS
valkey-cluster://host[:port],...   a Valkey Cluster; valkeys-cluster:// with TLS

Options are given as a query: `?partitions=16&prefix=hf&ack=replicas:1&fsync=everysec`
(fsync: embedded only). With `ack`, an acknowledgement means that `replicas:N` have the change, or
that the `disk` has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from holdfast.errors import InvalidInput
from holdfast.model import checks, partitions
from holdfast.store.valkey.acks import MOST_REPLICAS, Ack

Fsync = Literal["always", "everysec", "no"]

DEFAULT_PORT = 6379
_LONGEST = 2048
DEFAULT_PREFIX = "hf"
DEFAULT_EMBEDDED_PATH = ".holdfast"

_SCHEMES = {
    "valkey": (False, False),
    "valkeys": (False, True),
    "valkey-cluster": (True, False),
    "valkeys-cluster": (True, True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUrl:
    """The address and the layout of a store."""

    #: Set for an embedded store only.
    path: Path | None = None
    addresses: tuple[tuple[str, int], ...] = ()
    cluster: bool = False
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    #: None uses the stored number, or the default at the first boot.
    partitions: int | None = None
    #: All keys start with it, so that a server can be shared.
    prefix: str = DEFAULT_PREFIX
    #: What must have a change before it is acknowledged, besides the server.
    ack: Ack | None = None
    #: Embedded only: when an acknowledged write is on disk.
    fsync: Fsync = "always"

    def __str__(self) -> str:
        """Show the URL without its secrets."""
        if self.path is not None:
            return f"embedded://{self.path}"
        scheme = next(s for s, v in _SCHEMES.items() if v == (self.cluster, self.tls))
        hosts = ",".join(f"{host}:{port}" for host, port in self.addresses)
        return f"{scheme}://{hosts}"


def parse(url: str) -> StoreUrl:
    """Parse a store URL; raises InvalidInput that says what is wrong."""
    if not isinstance(url, str) or len(url) > _LONGEST or not url.isprintable():
        # Not shown: it may hold a password.
        message = f"store: must be a printable URL of at most {_LONGEST} characters"
        raise InvalidInput(message, field="store")
    scheme, separator, rest = url.partition("://")
    if not separator or (scheme != "embedded" and scheme not in _SCHEMES):
        known = ", ".join(f"{s}://" for s in ("embedded", *_SCHEMES))
        message = f"store: must start with one of {known}, or with http(s):// to reach a server"
        raise InvalidInput(message, field="store")
    if scheme == "embedded":
        path, _, query = rest.partition("?")
        options = _options(query, embedded=True)
        folder = Path(unquote(path) or DEFAULT_EMBEDDED_PATH).expanduser().absolute()
        return StoreUrl(path=folder, **options)
    cluster, tls = _SCHEMES[scheme]
    login, _, place = rest.rpartition("@")
    netloc, _, query = place.partition("?")
    username, _, password = login.partition(":")
    if login and not password:
        message = "store: a user needs a password: user:password@host"
        raise InvalidInput(message, field="store")
    hosts = netloc.rstrip("/").split(",")
    if len(hosts) > 1 and not cluster:
        message = f"store: {scheme}:// takes one address; several are for valkey-cluster://"
        raise InvalidInput(message, field="store")
    return StoreUrl(
        addresses=tuple(_address(host, cluster=cluster) for host in hosts),
        cluster=cluster,
        tls=tls,
        username=unquote(username) or None,
        password=unquote(password) or None,
        **_options(query, embedded=False),
    )


def _address(text: str, *, cluster: bool) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port, rest = parts.hostname, parts.port, parts.path
    except ValueError as error:
        message = f"store: bad address {text!r} ({error})"
        raise InvalidInput(message, field="store") from error
    if not host or rest:
        form = "host:port,host:port" if cluster else "host:port"
        message = f"store: expected {form}, got {text!r}"
        raise InvalidInput(message, field="store")
    return host, DEFAULT_PORT if port is None else port


def _options(query: str, *, embedded: bool) -> dict[str, Any]:
    allowed = {"partitions", "prefix", "ack"} | ({"fsync"} if embedded else set())
    pairs = parse_qsl(query, keep_blank_values=True)
    values = dict(pairs)
    checks.known_fields("store", values, allowed)
    for name in values:
        if [given for given, _ in pairs].count(name) > 1:
            message = f"store.{name}: given more than once, and only one would count"
            raise InvalidInput(message, field=f"store.{name}")
    options: dict[str, Any] = {}
    if "partitions" in values:
        text = values["partitions"]
        count = int(text) if text.isdecimal() else text
        options["partitions"] = checks.integer("store.partitions", count, 1, partitions.MOST)
    if "prefix" in values:
        options["prefix"] = checks.name("store.prefix", values["prefix"])
    if "ack" in values:
        options["ack"] = _ack(values["ack"], embedded=embedded)
    if "fsync" in values:
        options["fsync"] = checks.one_of(
            "store.fsync", values["fsync"], ("always", "everysec", "no")
        )
    return options


def _ack(text: str, *, embedded: bool) -> Ack:
    if text == "disk":
        return Ack(disk=True)
    word, _, number = text.partition(":")
    if word != "replicas" or not number.isdecimal():
        message = f"store.ack: must be disk or replicas:N, such as replicas:1, not {text!r}"
        raise InvalidInput(message, field="store.ack")
    if embedded:
        message = "store.ack: an embedded server has no replicas; use ack=disk, or fsync=always"
        raise InvalidInput(message, field="store.ack")
    return Ack(replicas=checks.integer("store.ack", int(number), 1, MOST_REPLICAS))
