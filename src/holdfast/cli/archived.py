"""Executions that have moved from the store to its archive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from holdfast.errors import ExecutionNotFound

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.exports import Exported

T = TypeVar("T")


async def get(engine: Engine, execution_id: str, error: ExecutionNotFound) -> Exported:
    """Return an execution from the archive; raise `error` if it is not there."""
    try:
        return await engine.archive.get(execution_id)
    except ExecutionNotFound:
        raise error from None


async def either(
    engine: Engine,
    execution_id: str,
    ask: Callable[[str], Awaitable[T]],
    read: Callable[[Exported], T],
) -> T:
    """Ask the store about an execution, or read it from the archive."""
    try:
        return await ask(execution_id)
    except ExecutionNotFound as error:
        return read(await get(engine, execution_id, error))


async def export(engine: Engine, execution_id: str) -> Exported:
    """Return the whole record of an ended execution, from the store or the archive."""
    try:
        return await engine.export(execution_id)
    except ExecutionNotFound as error:
        return await get(engine, execution_id, error)


async def is_archived(engine: Engine, exported: Exported) -> bool:
    """Whether the archive holds this execution with the same end."""
    try:
        row = await engine.archive.get(exported.id)
    except ExecutionNotFound:
        return False
    return (row.born, row.run) == (exported.born, exported.run)
