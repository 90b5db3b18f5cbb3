"""What the pipeline works out once for each route, not for each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.server.http.declare import JSON, Route
from holdfast.server.http.incoming import Incoming
from holdfast.server.views.fields import Body


class Prepared:
    """A route, ready for calls."""

    __slots__ = ("decoder", "is_streamed", "no_query", "reads_body", "takes_body", "takes_query")

    def __init__(self, route: Route) -> None:
        self.reads_body = route.reads_body
        self.takes_body = route.body is not None
        #: Whether the handler reads the body itself, in pieces.
        self.is_streamed = route.body is Incoming
        #: None for a body that is not JSON.
        self.decoder: msgspec.json.Decoder[Any] | None = (
            msgspec.json.Decoder(route.body or Body)
            if route.reads_body and route.accepts == JSON
            else None
        )
        self.takes_query = route.takes_query
        #: Makes the query of a call that has none; None if there must be one.
        self.no_query: Callable[[], Any] | None = _maker(route.query)


def _maker(query: Any) -> Callable[[], Any] | None:
    if query is None:
        return None
    try:
        query()
    except TypeError:
        return None
    made: Callable[[], Any] = query
    return made
