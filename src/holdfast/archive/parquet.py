"""Writes archived executions as Parquet, for other tools. Needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from holdfast.api import Archive
from holdfast.errors import InvalidInput
from holdfast.model.exports import Exported
from holdfast.model.listing import Filter

ROWS_IN_GROUP = 5_000


def schema() -> Any:
    """Return the schema; docs/archive.md describes the columns."""
    pa = _pyarrow()
    moment = pa.timestamp("ms", tz="UTC")
    text, number = pa.string(), pa.int64()
    return pa.schema(
        [
            pa.field("id", text, nullable=False),
            pa.field("tenant", text, nullable=False),
            pa.field("lane", text, nullable=False),
            pa.field("kind", text, nullable=False),
            pa.field("state", text, nullable=False),
            pa.field("priority", number, nullable=False),
            pa.field("created_at", moment, nullable=False),
            pa.field("started_at", moment),
            pa.field("completed_at", moment, nullable=False),
            pa.field("attempts", number, nullable=False),
            pa.field("failures", number, nullable=False),
            pa.field("reclaims", number, nullable=False),
            pa.field("replays", number, nullable=False),
            pa.field("error_type", text),
            pa.field("error_message", text),
            pa.field("reason", text),
            pa.field("idempotency_key", text),
            pa.field("tags", pa.map_(text, text)),
            pa.field("input", pa.binary()),
            pa.field("result", pa.binary()),
            pa.field("content_type", text),
            pa.field("history", text),
            pa.field("steps", text),
        ]
    )


def _values(row: Exported) -> dict[str, Any]:
    known = row.describe()
    outcome = row.outcome()
    error = known.error or {}
    steps = [{"name": s.name, "at": s.at, "result": _text(s.result)} for s in row.steps()]
    return {
        "id": known.id,
        "tenant": known.tenant,
        "lane": known.lane,
        "kind": known.kind,
        "state": known.state.value,
        "priority": known.priority,
        "created_at": known.created_at,
        "started_at": known.started_at,
        "completed_at": known.completed_at,
        "attempts": known.attempts,
        "failures": known.failures,
        "reclaims": known.reclaims,
        "replays": known.replays,
        "error_type": error.get("type"),
        "error_message": error.get("message"),
        "reason": known.reason,
        "idempotency_key": known.idempotency_key,
        "tags": list(known.tags.items()),
        "input": row.input(),
        "result": outcome.result,
        "content_type": outcome.content_type if outcome.result is not None else None,
        "history": msgspec.json.encode(row.history()).decode(),
        "steps": msgspec.json.encode(steps).decode(),
    }


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


async def write_parquet(archive: Archive, path: Path, wanted: Filter | None = None) -> int:
    """Write matching executions to a file, a row group at a time; returns how many."""
    pa = _pyarrow()
    import pyarrow.parquet as pq  # noqa: PLC0415 - optional

    columns = schema()
    count = 0
    with pq.ParquetWriter(path, columns, compression="zstd") as writer:

        def flush(rows: Iterable[dict[str, Any]]) -> None:
            writer.write_table(pa.Table.from_pylist(list(rows), schema=columns))

        group: list[dict[str, Any]] = []
        async for row in archive.rows(wanted):
            group.append(_values(row))
            count += 1
            if len(group) == ROWS_IN_GROUP:
                flush(group)
                group = []
        flush(group)
    return count


def _pyarrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
    except ImportError as error:
        message = "Parquet needs pyarrow: pip install 'holdfast[parquet]'"
        raise InvalidInput(message, field="parquet") from error
    return pa
