"""The web as packs may use it: only hosts that they list, only public addresses, within bounds."""

from __future__ import annotations

from holdfast.host.web.client import Reply, Request, Response, Web
from holdfast.host.web.hosts import Hosts

__all__ = ["Hosts", "Reply", "Request", "Response", "Web"]
