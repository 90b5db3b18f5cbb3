"""Merges small segments, so that the manifest stays small even if executions arrive slowly."""

from __future__ import annotations

from holdfast.archive.archive import Archive, entries_of
from holdfast.archive.segment import Builder
from holdfast.fencing.writer import ManifestWriter

#: This many small segments may exist before they are merged.
MOST_SMALL = 16


async def compact(archive: Archive, writer: ManifestWriter, most_rows: int, most_bytes: int) -> int:
    """Merge small segments into larger ones; returns how many were merged."""
    merged = 0
    pending = set(writer.snapshot.facts.get("pending", ()))
    small = [
        (name, entry)
        for name, entry in entries_of(writer.snapshot)
        if 2 * entry.rows < most_rows and 2 * entry.bytes < most_bytes and name not in pending
    ]
    if len(small) < MOST_SMALL:
        return 0
    small.sort(key=lambda one: one[1].first_born)
    while len(small) > 1:
        builder, names, size = Builder(), [], 0
        while small and builder.rows + small[0][1].rows <= most_rows and size < most_bytes:
            name, entry = small.pop(0)
            builder.copy(await archive.load(name, entry))
            size += entry.bytes
            names.append(name)
        if len(names) > 1:
            body, whole = builder.finish()
            new = await writer.put(body, ".segment")
            await writer.commit(add={new: whole.to_value()}, drop=names)
            merged += len(names)
    return merged
