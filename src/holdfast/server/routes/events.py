"""Live events of one execution, or of all executions of a tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Annotated, Any

from msgspec import Meta

from holdfast import errors
from holdfast.model.feeds import Gap, Noun, NounChange, Position, StateChange, nouns
from holdfast.server.auth import shown
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.http.sse import LAST_EVENT_ID, MEDIA_TYPE, EventStream, Sse
from holdfast.server.views.executions import event_view
from holdfast.server.views.fields import Cursor, Query, Tenants
from holdfast.server.views.times import rfc3339

routes: Routes = Routes("events", "Live events, as server-sent events.")


_NOUNS = "|".join(Noun)
#: One noun, or several that commas separate.
Types = Annotated[str, Meta(max_length=200, pattern=f"^({_NOUNS})(,({_NOUNS}))*$")]


class ResumeQuery(Query):
    """Where to continue; the header `Last-Event-ID` means the same."""

    after: Cursor | None = None


@routes.get(
    "/v1/executions/{id}/events",
    owner=EXECUTION,
    errors=(errors.RateLimited,),
    media_type=MEDIA_TYPE,
)
async def follow_execution(call: Call, id: str, query: ResumeQuery) -> EventStream:
    """Follow one execution: its past events, then live ones, until it ends.

    Events have the names and data of the history, and `current`, the state of the execution when
    the event is sent. An event `state` reports a change of state that has no event of its own.
    The last event is `end` with `{state}`.
    """
    await call.engine.owner(id)
    after = query.after or call.request.headers.get(LAST_EVENT_ID)
    if after is not None:
        Position.parse(after)
    return EventStream(call, _of_execution(call, id, after))


async def _of_execution(call: Call, execution_id: str, after: str | None) -> AsyncIterator[Sse]:
    changes = call.engine.changes.follow(execution_id, after)
    state = None
    async for change in changes:
        state = change.state
        if change.event is not None:
            view = {**event_view(change.event), "current": state}
            yield Sse(change.event.event, view, change.position)
        else:
            yield Sse("state", {"state": state})
    yield Sse("end", {"state": state})


class FeedQuery(ResumeQuery):
    """Whose feed to follow."""

    tenant: Tenants | None = None
    #: The nouns to follow, with commas between them.
    types: Types = Noun.EXECUTION.value


@routes.get(
    "/v1/events", errors=(errors.RateLimited, errors.StoreUnavailable), media_type=MEDIA_TYPE
)
async def follow_tenant(call: Call, query: FeedQuery) -> EventStream:
    """Follow what happens to a tenant: an event `execution` for every change of state.

    With `types`, changes of other nouns follow in the same order: events `session`, `waitpoint`,
    `deployment`, `queue` and `worker` name what has changed, so that you can read it again. A
    queue is named at most once a second.

    The first event is `open`; no later event is missed. A feed is kept for five minutes after its
    last reader has left. A reader that reconnects later, or after more than 10,000 events in a
    partition, gets an event `gap` and should read the current state again. When the store does not
    answer, the feed ends within seconds with an event `error`, and a new one is refused.
    """
    if call.tenant is None:
        raise errors.InvalidInput(
            "tenant: must name one tenant, because a feed covers only one", field="tenant"
        )
    after = query.after or call.request.headers.get(LAST_EVENT_ID)
    if after is not None:
        Position.parse(after)
    types = nouns(query.types.split(","))
    await call.ping()
    return EventStream(call, _of_tenant(call, call.tenant, after, types), ends_away=True)


async def _of_tenant(
    call: Call, tenant: str, after: str | None, types: Collection[Noun]
) -> AsyncIterator[Sse]:
    async for news in call.engine.feeds.follow(tenant, after, types):
        if news is None:
            yield Sse("open", {"tenant": tenant})
        elif isinstance(news, Gap):
            yield Sse("gap", {"after": after})
        elif isinstance(news, NounChange):
            yield Sse(news.type, _noun(news), str(news.position))
        else:
            yield Sse("execution", _change(news), str(news.position))


def _noun(news: NounChange) -> dict[str, Any]:
    view = {"at": rfc3339(news.at), "id": shown.own(news.id), "change": news.change}
    more = {"execution": shown.own_or_none(news.execution), "env": news.env}
    return view | {name: value for name, value in more.items() if value is not None}


def _change(news: StateChange) -> dict[str, Any]:
    return {
        "at": rfc3339(news.at),
        "execution": shown.own(news.execution),
        "kind": news.kind,
        "lane": news.lane,
        "from": news.before,
        "state": news.state,
        "attempts": news.attempts,
    }
