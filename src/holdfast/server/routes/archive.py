"""The archive: executions that retention has removed from the store."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast import errors
from holdfast.archive.archive import entries_of
from holdfast.errors import NotFound
from holdfast.model import limits
from holdfast.model.moments import from_ms
from holdfast.server.call import Call
from holdfast.server.declare import Routes, Scope
from holdfast.server.fields import View
from holdfast.server.routes.executions import ListQuery, filter_of
from holdfast.server.times import rfc3339
from holdfast.server.views import ExecutionPage, ExecutionView

routes: Routes = Routes("archive", "Ended executions in object storage.")


class ArchiveQuery(ListQuery):
    """Which executions; absent means any."""

    cursor: Annotated[str, Meta(max_length=2 * limits.ID_CHARS)] | None = None


@routes.get(
    "/v1/archive/executions",
    errors=(errors.BackendFailed, errors.InvalidRecord),
    query_example={"state": "completed", "limit": "10"},
)
async def list_archived(call: Call, query: ArchiveQuery) -> ExecutionPage:
    """List archived executions, newest first, each as it ended last.

    Where the store has no archive, none is archived.
    """
    archive = await call.services.archives.find()
    if archive is None:
        return ExecutionPage(items=[], next_cursor=None)
    wanted = filter_of(query, call.tenant)
    page = await archive.page(wanted, limit=query.limit, cursor=query.cursor)
    items = [ExecutionView.of(one) for one in page.items]
    return ExecutionPage(items=items, next_cursor=page.next_cursor)


class ManifestToken(View):
    """The token of the last writer."""

    term: int
    generation: int


class ManifestView(View):
    """Which segments are real, by name, and who has committed them."""

    url: str
    #: Counts commits.
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
    """Read the manifest of the archive; it is about all tenants, so it needs an operator key."""
    archive = await call.services.archives.find()
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
        committed_at=rfc3339(from_ms(snapshot.committed_at_ms)) if snapshot else None,
        executions=sum(entry.rows for entry in entries.values()),
        bytes=sum(entry.bytes for entry in entries.values()),
        segments={name: msgspec.to_builtins(entry) for name, entry in entries.items()},
    )
