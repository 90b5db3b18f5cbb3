"""The archive: executions that retention has removed from the store."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from holdfast import errors
from holdfast.archive.archive import entries_of
from holdfast.errors import NotFound
from holdfast.model import bounds
from holdfast.model.archive import ArchiveStatus
from holdfast.model.exports import Exported
from holdfast.model.moments import from_ms
from holdfast.server.auth.owners import ARCHIVED
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Bare, Routes, Scope
from holdfast.server.routes.executions import FilterQuery, filter_of, result_of
from holdfast.server.views.executions import EventPage, ExecutionPage, ExecutionView, event_view
from holdfast.server.views.fields import View
from holdfast.server.views.paging import PageQuery
from holdfast.server.views.times import rfc3339

routes: Routes = Routes("archive", "Ended executions in object storage.")


class ArchiveQuery(FilterQuery):
    """Which executions to list. Absent filters match any value."""

    cursor: Annotated[str, Meta(max_length=2 * bounds.ID_CHARS)] | None = None


@routes.get(
    "/v1/archive/executions",
    errors=(errors.BackendFailed, errors.InvalidRecord),
    query_example={"state": "completed", "limit": "10"},
)
async def list_archived(call: Call, query: ArchiveQuery) -> ExecutionPage:
    """List archived executions, newest first, each with its last end.

    If the store has no archive, the list is empty.
    """
    archive = await call.engine.archive.find()
    if archive is None:
        return ExecutionPage(items=[], next_cursor=None)
    filters = filter_of(query, call.tenant)
    page = await archive.page(filters, limit=query.limit, cursor=query.cursor)
    items = [ExecutionView.of(execution) for execution in page.items]
    return ExecutionPage(items=items, next_cursor=page.next_cursor)


_ERRORS = (errors.ExecutionNotFound, errors.BackendFailed, errors.InvalidRecord)


async def _row(call: Call, execution_id: str) -> Exported:
    archive = await call.engine.archive.find()
    if archive is None:
        raise ARCHIVED.missing(execution_id)
    return await archive.get(execution_id)


@routes.get("/v1/archive/executions/{id}", owner=ARCHIVED, errors=_ERRORS)
async def describe(call: Call, id: str) -> ExecutionView:
    """Read an archived execution with its last end."""
    return ExecutionView.of((await _row(call, id)).describe())


@routes.get(
    "/v1/archive/executions/{id}/result",
    owner=ARCHIVED,
    errors=(*_ERRORS, errors.ResultNotReady),
    media_type="*/*",
    bare=Bare.PAYLOAD,
)
async def result(call: Call, id: str) -> Response:
    """Read the result of an archived execution, as it was stored, with its content type."""
    return result_of((await _row(call, id)).outcome())


@routes.get("/v1/archive/executions/{id}/history", owner=ARCHIVED, errors=_ERRORS)
async def history(call: Call, id: str, query: PageQuery) -> EventPage:
    """Read the history of an archived execution, oldest first."""
    events, more = query.part((await _row(call, id)).history())
    return EventPage(items=[event_view(event) for event in events], next_cursor=more)


@routes.get("/v1/archive/executions/{id}/export", owner=ARCHIVED, errors=_ERRORS, bare=Bare.EXACT)
async def export(call: Call, id: str) -> Response:
    """Export an archived execution in the format of `holdfast archive export`."""
    return Response((await _row(call, id)).to_json(), media_type="application/json")


class ArchiveView(View):
    """Where the archive is, what it holds, and how many executions wait for it."""

    #: null if there is no archive.
    url: str | None
    #: Executions whose retention is over and that are not archived yet.
    waiting: int
    segments: int
    executions: int
    bytes: int
    #: Executions by tenant.
    tenants: dict[str, int]
    first_day: str | None
    last_day: str | None
    #: The number of commits.
    sequence: int
    #: The token of the last writer: TERM.GENERATION.
    token: str | None
    committed_at: str | None


@routes.get("/v1/archive", scope=Scope.SYSTEM, errors=(errors.BackendFailed, errors.InvalidRecord))
async def status(call: Call) -> ArchiveView:
    """Read the status of the archive. It covers all tenants, so it needs an operator key."""
    survey = await call.engine.archive.survey()
    archive = survey.archive or ArchiveStatus()
    return ArchiveView(
        url=survey.url,
        waiting=survey.waiting,
        segments=archive.segments,
        executions=archive.executions,
        bytes=archive.bytes,
        tenants=dict(archive.tenants),
        first_day=archive.first_day,
        last_day=archive.last_day,
        sequence=archive.sequence,
        token=archive.token,
        committed_at=None if archive.committed_at_ms is None else _at(archive.committed_at_ms),
    )


def _at(ms: int) -> str:
    return rfc3339(from_ms(ms))


class ManifestToken(View):
    """The token of the last writer."""

    term: int
    generation: int


class ManifestView(View):
    """The committed segments by name, and their last writer."""

    url: str
    #: The number of commits.
    sequence: int
    token: ManifestToken | None
    holder: str | None
    committed_at: str | None
    executions: int
    bytes: int
    segments: dict[str, dict[str, Any]]


@routes.get(
    "/v1/archive/manifest",
    scope=Scope.SYSTEM,
    errors=(NotFound, errors.BackendFailed, errors.InvalidRecord),
)
async def manifest(call: Call) -> ManifestView:
    """Read the manifest of the archive. It covers all tenants, so it needs an operator key."""
    archive = await call.engine.archive.find()
    if archive is None:
        raise NotFound("the store has no archive: `holdfast archive enable URL` sets one")
    snapshot = await archive.manifest.read()
    entries = dict(entries_of(snapshot))
    token = None
    if snapshot is not None:
        token = ManifestToken(term=snapshot.token.term, generation=snapshot.token.generation)
    return ManifestView(
        url=archive.objects.name,
        sequence=snapshot.sequence if snapshot else 0,
        token=token,
        holder=snapshot.holder if snapshot else None,
        committed_at=_at(snapshot.committed_at_ms) if snapshot else None,
        executions=sum(entry.rows for entry in entries.values()),
        bytes=sum(entry.bytes for entry in entries.values()),
        segments={name: msgspec.to_builtins(entry) for name, entry in entries.items()},
    )
