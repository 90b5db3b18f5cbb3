"""Changed source files are noticed, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.cli.process.reloading import changes, times_of


def _write(path: Path, mtime_ns: int = 1) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return str(path)


def test_python_files_in_all_folders_are_seen(tmp_path: Path) -> None:
    """With their times, to the nanosecond."""
    files = {_write(tmp_path / "a.py", 5), _write(tmp_path / "deep" / "er" / "b.py", 7)}
    _write(tmp_path / "notes.txt")
    found = times_of([tmp_path])
    assert set(found) == files
    assert set(found.values()) == {5, 7}


def test_folders_in_which_nobody_edits_are_skipped(tmp_path: Path) -> None:
    """Environments, caches and hidden folders may be large and change by themselves."""
    for folder in (".git", "node_modules", "__pycache__", "venv/lib"):
        _write(tmp_path / folder / "x.py")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    assert times_of([tmp_path, tmp_path / "nothing"]) == {}


def test_new_changed_and_removed_files_are_changes() -> None:
    """What stayed is none."""
    before = {"same": 1, "edited": 1, "removed": 1}
    after = {"same": 1, "edited": 2, "made": 1}
    assert changes(before, after) == ["edited", "made", "removed"]
