"""Routing: which revision of a deployment answers a message.

`decide` is the rule, over one snapshot. A `Router` takes the snapshot and pins the session.
"""

from __future__ import annotations

from holdfast.model.activities import Explanation, Reason
from holdfast.routing.cookies import Cookie, Cookies
from holdfast.routing.dispatcher import Decision, Snapshot, decide, explain
from holdfast.routing.memory_pins import MemoryPins
from holdfast.routing.pins import Pins
from holdfast.routing.router import Router
from holdfast.routing.store_pins import StorePins
from holdfast.routing.table import Candidate, RoutingTable

__all__ = [
    "Candidate",
    "Cookie",
    "Cookies",
    "Decision",
    "Explanation",
    "MemoryPins",
    "Pins",
    "Reason",
    "Router",
    "RoutingTable",
    "Snapshot",
    "StorePins",
    "decide",
    "explain",
]
