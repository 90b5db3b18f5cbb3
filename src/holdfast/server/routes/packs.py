"""Packs: the archives that revisions run."""

from __future__ import annotations

import asyncio

from holdfast import errors
from holdfast.host import packs
from holdfast.host.flows import parser, problems
from holdfast.host.flows.placing import PlacedFlow, place
from holdfast.host.packs.signatures import ANYBODY
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.names import DEFAULT_TENANT
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.deployments import PackPage, PackView
from holdfast.server.views.drawings import FlowLayoutView
from holdfast.server.views.fields import Cursor, PageLimit, Query, Tenants

routes: Routes = Routes("packs", "The archives that revisions run.")


@routes.post(
    "/v1/packs",
    role=Role.OPERATOR,
    status=(201, 200),
    errors=(errors.InvalidPack, errors.StoreFull),
    most_bytes=bounds.PACK_BYTES,
)
async def upload(call: Call, body: bytes, query: TenantQuery) -> Answer[PackView]:  # noqa: ARG001
    """Upload the archive of a pack, as `holdfast pack build` writes it.

    The same pack again changes nothing, unless its archive has more signatures. A damaged or unsafe
    archive is refused as `invalid_pack`.
    """
    # Digests of a large archive take a while.
    found = await asyncio.to_thread(packs.upload_of, body)
    pack, created = await call.engine.packs.put(found, tenant=str(call.tenant))
    return Answer(PackView.of(pack), 201 if created else 200)


class ListQuery(Query):
    """Whose packs to list."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get("/v1/packs")
async def list_packs(call: Call, query: ListQuery) -> PackPage:
    """List packs. An operator key lists all tenants with `tenant=*`."""
    found, more = await call.engine.packs.list(call.tenant, limit=query.limit, cursor=query.cursor)
    return PackPage(items=[PackView.of(pack) for pack in found], next_cursor=more)


@routes.get(
    "/v1/packs/{digest}/flows/{flow}/layout",
    errors=(errors.PackNotFound, errors.FlowNotFound),
)
async def draw(call: Call, digest: str, flow: str, query: TenantQuery) -> FlowLayoutView:  # noqa: ARG001
    """Read where to draw the nodes of a flow of a pack."""
    pack = await call.engine.packs.get(digest, tenant=call.tenant or DEFAULT_TENANT)
    view = _DRAWN.get((pack.digest, flow))
    if view is None:
        archive = await call.engine.packs.archive(pack.archive)
        view = FlowLayoutView.of(await asyncio.to_thread(_placed, archive, flow))
        if len(_DRAWN) >= _MOST_DRAWN:
            _DRAWN.clear()
        _DRAWN[pack.digest, flow] = view
    return view


#: Drawings by digest and flow; a pack never changes.
_DRAWN: dict[tuple[str, str], FlowLayoutView] = {}
_MOST_DRAWN = 200


def _placed(archive: bytes, flow_id: str) -> PlacedFlow:
    """Read a flow from an archive and place its nodes; it may have errors if it can be read."""
    pack = packs.load_archive(archive, ANYBODY, quiet=True)
    file = pack.definition.flows.get(flow_id)
    if file is not None:
        flow = parser.load_flow(pack.files[file.path], file.path, problems.Problems())
        if flow is not None:
            return place(flow)
    raise errors.FlowNotFound(f"the pack {pack.id} has no flow {flow_id!r}", flow=flow_id)


@routes.delete(
    "/v1/packs/{digest}",
    role=Role.OPERATOR,
    status=204,
    errors=(errors.PackNotFound, errors.PackInUse),
    takes_key=True,
)
async def delete(call: Call, digest: str, query: TenantQuery) -> None:  # noqa: ARG001
    """Delete a pack of a tenant, and its archive if no other tenant has it.

    It is refused as `pack_in_use` while a revision that is not archived was staged from it.
    """
    await call.engine.packs.delete(digest, tenant=str(call.tenant))
