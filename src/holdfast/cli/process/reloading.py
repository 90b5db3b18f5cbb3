"""Detect changed source files by their modification times."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

#: Folders whose sources are not edited by hand.
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})

Times = Mapping[str, int]


def times_of(folders: Iterable[Path], *, ending: str = ".py") -> Times:
    """Return every file with an ending under the folders, and its modification time."""
    return {path: mtime for folder in folders for path, mtime in _scan(str(folder), ending)}


def _scan(folder: str, ending: str) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(folder) as iterator:
            entries = list(iterator)
    except OSError:
        return
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                yield from _scan(entry.path, ending)
            elif entry.name.endswith(ending):
                yield entry.path, entry.stat().st_mtime_ns
        except OSError:
            # The file is gone since the scan: editors replace files.
            continue


def changes(before: Times, after: Times) -> list[str]:
    """Return the files that were changed, created or removed."""
    return sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
