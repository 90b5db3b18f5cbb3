"""Executions that are no longer in the store but in its archive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from holdfast.errors import ExecutionNotFound

if TYPE_CHECKING:
    from holdfast.archive import Archive, Survey
    from holdfast.engine import Engine
    from holdfast.model.explanations import Explanation
    from holdfast.model.exports import Exported
    from holdfast.model.listing import Filter, Page

T = TypeVar("T")

#: A client has the archive of its server's store, where an engine has the store.
_FAR = "archive"


async def open_(engine: Engine) -> Archive:
    """Return the archive; raises InvalidInput if there is none."""
    from holdfast.archive import open_archive  # noqa: PLC0415 - most executions are in the store

    return getattr(engine, _FAR, None) or await open_archive(engine.store)


async def survey(engine: Engine) -> Survey:
    """Say where the archive is, what is in it, and what waits for it."""
    from holdfast.archive import survey  # noqa: PLC0415 - loads the client library

    far = getattr(engine, _FAR, None)
    return await (far.survey() if far else survey(engine.store))


async def get(engine: Engine, execution_id: str, error: ExecutionNotFound) -> Exported:
    """Return an execution from the archive; raises the error if there is none."""
    from holdfast.archive import find_archive  # noqa: PLC0415 - most executions are in the store

    archive: Archive | None = getattr(engine, _FAR, None) or await find_archive(engine.store)
    if archive is None:
        raise error
    return await archive.get(execution_id)


async def either(
    engine: Engine,
    execution_id: str,
    ask: Callable[[str], Awaitable[T]],
    read: Callable[[Exported], T],
) -> T:
    """Ask the store about an execution, or else read it in the archive."""
    try:
        return await ask(execution_id)
    except ExecutionNotFound as error:
        return read(await get(engine, execution_id, error))


def explain(row: Exported) -> Explanation:
    """Say why an archived execution is not running."""
    from holdfast.model.explanations import Explanation  # noqa: PLC0415 - loads the client library

    state = row.describe().state
    return Explanation(state=state, why=f"It has ended: {state}. It is in the archive.")


async def export(engine: Engine, execution_id: str) -> Exported:
    """Return everything of an execution that has ended, wherever it is."""
    try:
        return await engine.export(execution_id)
    except ExecutionNotFound as error:
        return await get(engine, execution_id, error)


async def is_archived(engine: Engine, exported: Exported) -> bool:
    """Whether the archive has this very end of an execution."""
    try:
        known = await get(engine, exported.id, ExecutionNotFound("", id=exported.id))
    except ExecutionNotFound:
        return False
    return (known.born, known.run) == (exported.born, exported.run)


async def page(engine: Engine, wanted: Filter, limit: int, cursor: str | None) -> Page:
    """Return a page of the archive's list."""
    return await (await open_(engine)).page(wanted, limit=limit, cursor=cursor)
