"""The folder of a pack, read without following links out of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from holdfast.errors import InvalidInput
from holdfast.host.packs import limits, paths
from holdfast.host.packs.problems import Problem, refuse

#: Left behind by tools; never a part of a pack. Names that begin with a dot are not either.
_IGNORED = frozenset({"__pycache__", "Thumbs.db", "desktop.ini"})


def read(folder: Path) -> dict[str, bytes]:
    """Return the files of a pack's folder by their names; raises InvalidPack, InvalidInput."""
    if not folder.is_dir():
        message = f"there is no folder {folder}; make one with `holdfast pack new`"
        raise InvalidInput(message, field="folder")
    files: dict[str, bytes] = {}
    total = 0
    for name, path in _walk(folder, "", 1):
        paths.check(name)
        paths.check_place(name)
        if len(files) >= limits.FILES:
            message = f"the pack has more than {limits.FILES} files"
            refuse(Problem.TOO_MANY_FILES, message, limit=limits.FILES)
        files[name] = _content(path, name)
        total += len(files[name])
        if total > limits.TOTAL_BYTES:
            message = f"the files have more than {limits.TOTAL_BYTES} bytes together"
            refuse(Problem.TOO_LARGE, message, limit=limits.TOTAL_BYTES)
    paths.check_distinct(files)
    return files


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Path]]:
    """Yield the files below a folder with their names in the pack, in a fixed order."""
    if depth > limits.PATH_PARTS:
        refuse(Problem.UNSAFE_PATH, f"`{prefix}` is nested too deep", file=prefix)
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        _unreadable(prefix or ".", error)
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _IGNORED or entry.name.endswith(".pyc"):
            continue
        name = prefix + entry.name
        if entry.is_symlink():
            message = f"`{name}` is a symbolic link; put the file itself there"
            refuse(Problem.SYMLINK, message, file=name)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{name}/", depth + 1)
        else:
            yield name, Path(entry.path)


def _content(path: Path, name: str) -> bytes:
    # A link or a pipe may have taken the place of the file since the folder was listed.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse(Problem.SYMLINK, f"`{name}` is a symbolic link", file=name)
        if error.errno == errno.ENXIO:
            refuse(Problem.NOT_A_FILE, f"`{name}` is not a file", file=name)
        _unreadable(name, error)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            refuse(Problem.NOT_A_FILE, f"`{name}` is not a file", file=name)
        try:
            content = file.read(limits.FILE_BYTES + 1)
        except OSError as error:
            _unreadable(name, error)
    if len(content) > limits.FILE_BYTES:
        message = f"`{name}` has more than {limits.FILE_BYTES} bytes"
        refuse(Problem.TOO_LARGE, message, file=name, limit=limits.FILE_BYTES)
    return content


def _unreadable(name: str, error: OSError) -> NoReturn:
    message = f"`{name}` cannot be read ({error.strerror})"
    refuse(Problem.UNREADABLE_FILE, message, file=name)
