"""Follow one execution over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.http import Http, path
from holdfast.client.sse import follow
from holdfast.model import checks
from holdfast.model.feeds import Change
from holdfast.model.states import State


@final
class RemoteChanges(api.Changes):
    """Followers of executions."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def follow(self, execution_id: str, after: str | None = None) -> AsyncIterator[Change]:
        where = path("executions", checks.execution_id("id", execution_id), "events")
        state: State | None = None
        async with contextlib.aclosing(follow(self._http, where, after=after)) as stream:
            async for event in stream:
                view = msgspec.json.decode(event.data)
                if event.name == "end":
                    return
                before, state = state, State(view.pop("current", None) or view["state"])
                if event.id is not None:
                    yield Change(state, decode.event(view), event.id)
                elif state is not before:
                    yield Change(state, None, None)
