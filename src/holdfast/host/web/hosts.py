"""The hosts that a pack may call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

#: Entries such as `api.example.org`, `*.example.org` and `api.example.org:8443`.
Hosts: TypeAlias = Iterable[str]


def allows(allowed: Hosts, host: str, port: str = "") -> bool:
    """Return whether a list of hosts has a host; `*.example.com` has all below it."""
    for one in allowed:
        name, _, own_port = one.lower().partition(":")
        if own_port and own_port != port:
            continue
        if host == name or (name.startswith("*.") and host.endswith(name[1:])):
            return True
    return False
