"""Finding things by their ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Self

from msgspec import Meta

from holdfast.model import bounds, names
from holdfast.model.api_keys import Role
from holdfast.model.found import Found
from holdfast.operate.finding import Finder
from holdfast.server.auth import shown
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Query, Tenants, View

routes: Routes = Routes("find", "What has an id, whatever it is.")

#: Nouns whose ids and whose names contain the tenant.
_IDS = frozenset({"execution", "graph", "waitpoint", "session"})
_NAMES = frozenset({"queue", "message"})


class FindQuery(Query):
    """What to find."""

    #: As somebody pasted it; surrounding spaces do not count.
    id: Annotated[str, Meta(min_length=1, max_length=2 * bounds.ID_CHARS)]
    tenant: Tenants | None = None


class FoundView(ModelView, model=Found):
    """Something that has the id."""

    #: Where the console shows it, relative to /console/.
    page: str

    @classmethod
    def of(cls, value: Found) -> Self:
        """Show what was found."""
        return cls.copy(value, page=value.page)


class FoundPage(View):
    """What has the id; several nouns may use the same one."""

    items: list[FoundView]
    next_cursor: str | None = None


@routes.get("/v1/find", errors=CHANGING, query_example={"id": "daily-report", "tenant": "*"})
async def find(call: Call, query: FindQuery) -> FoundPage:
    """Find what has an id: one call instead of one for each noun.

    Executions, graphs, waitpoints, sessions, schedules, queues, budgets, quotas and workers are
    asked, and for admins API keys and the requests of the last 1,000 entries of the audit log. If
    none has the id, the next 100 messages of 20 queues are searched. A key of one tenant finds that
    tenant's things.
    """
    is_admin = call.identity.may((Role.ADMIN,))
    found = await Finder(call.engine, call.tenant, is_admin=is_admin).find(query.id.strip() or "-")
    return FoundPage(items=[FoundView.of(_as_known(call, one)) for one in found])


def _as_known(call: Call, found: Found) -> Found:
    """Return what was found with its id as the caller knows it."""
    if found.noun in _IDS:
        return replace(found, id=shown.own(found.id), title=shown.own(found.title))
    own = call.identity.tenant
    if found.noun not in _NAMES or own is None:
        return found
    within = found.within and names.seen(found.within, own)
    known = found.id if found.noun == "message" else names.seen(found.id, own)
    return replace(found, id=known, within=within, title=within or known)
