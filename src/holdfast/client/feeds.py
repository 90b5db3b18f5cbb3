"""Event feeds over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.http import Http
from holdfast.client.sse import follow
from holdfast.model import checks
from holdfast.model.feeds import Gap, Noun, NounChange, Position, StateChange, nouns
from holdfast.model.states import State


@final
class RemoteFeeds(api.Feeds):
    """The event feeds of a server's store."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def follow(
        self,
        tenant: str,
        after: str | None = None,
        types: Collection[str] = (Noun.EXECUTION,),
    ) -> AsyncIterator[StateChange | NounChange | Gap | None]:
        where, seen, is_open = "/v1/events", after, False
        wanted = ",".join(sorted(nouns(types)))
        query = {"tenant": checks.name("tenant", tenant), "after": after, "types": wanted}
        async with contextlib.aclosing(follow(self._http, where, **query)) as stream:
            async for event in stream:
                if event.name == "gap":
                    yield Gap()
                elif event.name == "open":
                    if not is_open:
                        yield None
                    elif seen is None:
                        # The connection was lost before there was a position to continue from.
                        yield Gap()
                    is_open = True
                elif event.id is not None:
                    seen = event.id
                    yield _change(event.name, msgspec.json.decode(event.data), seen)


def _change(noun: str, view: dict[str, Any], position: str) -> StateChange | NounChange:
    if noun != Noun.EXECUTION:
        return NounChange(
            position=Position.parse(position),
            at=decode.moment(view["at"]),
            type=Noun(noun),
            id=view["id"],
            change=view["change"],
            execution=view.get("execution"),
            env=view.get("env"),
        )
    before = view["from"]
    return StateChange(
        position=Position.parse(position),
        at=decode.moment(view["at"]),
        execution=view["execution"],
        kind=view["kind"],
        lane=view["lane"],
        before=None if before is None else State(before),
        state=State(view["state"]),
        attempts=view["attempts"],
    )
