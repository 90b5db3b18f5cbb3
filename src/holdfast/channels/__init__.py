"""Channels: how messages of providers become activities, and how replies become their messages.

Nothing here reads or writes anything but values. The engine receives webhooks (`engine/ingress.py`)
and sends replies (`engine/replying.py`) with what a provider makes of them.
"""

from holdfast.channels.catalog import ALL_NAMES, NAMES, provider
from holdfast.channels.exchange import Answer, Call, Request, Response
from holdfast.channels.provider import Channel, Incoming, Provider, Receipt, Received, Rejected

__all__ = [
    "ALL_NAMES",
    "NAMES",
    "Answer",
    "Call",
    "Channel",
    "Incoming",
    "Provider",
    "Receipt",
    "Received",
    "Rejected",
    "Request",
    "Response",
    "provider",
]
