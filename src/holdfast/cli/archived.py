"""Executions that are no longer in the store but in its archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import ExecutionNotFound, NotOverHttp

if TYPE_CHECKING:
    from holdfast.engine import Engine
    from holdfast.model.executions import Filter, Page
    from holdfast.store.exports import Exported


async def get(engine: Engine, execution_id: str, error: ExecutionNotFound) -> Exported:
    """Return an execution from the archive; raises the error if there is none."""
    from holdfast.archive import find_archive  # noqa: PLC0415 - most executions are in the store

    try:
        archive = await find_archive(engine.store)
    except NotOverHttp:
        archive = None
    if archive is None:
        raise error
    return await archive.get(execution_id)


async def export(engine: Engine, execution_id: str) -> Exported:
    """Return everything of an execution that has ended, wherever it is."""
    try:
        row = await engine.store.archives.export(execution_id)
    except ExecutionNotFound as error:
        return await get(engine, execution_id, error)
    result = row.result()
    return row.with_payloads(
        await engine.payloads.back(row.input()),
        None if result is None else await engine.payloads.back(result),
    )


async def is_archived(engine: Engine, exported: Exported) -> bool:
    """Whether the archive has this very end of an execution."""
    try:
        known = await get(engine, exported.id, ExecutionNotFound("", id=exported.id))
    except ExecutionNotFound:
        return False
    return (known.born, known.run) == (exported.born, exported.run)


async def page(engine: Engine, wanted: Filter, limit: int, cursor: str | None) -> Page:
    """Return a page of the archive's list."""
    from holdfast.archive import open_archive  # noqa: PLC0415 - only lists of the archive need it

    return await (await open_archive(engine.store)).page(wanted, limit=limit, cursor=cursor)
