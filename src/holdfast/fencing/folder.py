"""Objects in a folder of a local disk, shared by the processes of a machine.

A write compares and swaps under a lock of the operating system: new bytes go to a separate file,
reach the disk, and are renamed into place. An object's file starts with a line that holds its
version, which is unique, so that equal bytes written twice are two versions.

Do not use it on network disks: their locks are often unreliable. A key cannot start with another
key and a slash, because a name is either a file or a folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from holdfast.errors import BackendFailed, VersionConflict
from holdfast.fencing.memory import conflict
from holdfast.fencing.objects import Entry, Stored
from holdfast.model.ids import new_id
from holdfast.model.writer_leases import Version

P = ParamSpec("P")
T = TypeVar("T")

_HEAD = b"holdfast-object "
_HEAD_BYTES = len(_HEAD) + 20 + 1
#: A lock is held during a rename; a stopped process may hold it longer.
LOCK_TIMEOUT_S = 5.0
_LOCK_LOOK_S = 0.002


class FolderObjects:
    """Objects in a folder."""

    def __init__(self, folder: Path | str) -> None:
        self._root = Path(folder).expanduser().absolute()
        self._objects = self._root / "objects"
        self._locks = self._root / "locks"
        self._parts = self._root / "parts"
        self.name: str = f"file://{self._root}"

    async def get(self, key: str) -> Stored | None:
        """Return the object."""
        return await self._run(self._read, key)

    async def get_range(self, key: str, start: int, length: int) -> bytes | None:
        """Return a part of the object."""
        return await self._run(self._read_range, key, start, length)

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        """Create the object."""
        return await self._run(self._write, key, body, None)

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        """Replace exactly this version."""
        return await self._run(self._write, key, body, version)

    async def delete(self, key: str) -> None:
        """Remove the object."""
        await self._run(self._remove, key, None)

    async def delete_if_version(self, key: str, version: Version) -> None:
        """Remove exactly this version."""
        await self._run(self._remove, key, version)

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        """Iterate over the objects in order."""
        for entry in await self._run(self._entries, prefix):
            yield entry

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do blocking work in a thread; an error of the disk raises BackendFailed."""
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except OSError as error:
            raise BackendFailed(f"{self.name}: {error}", maybe_done=True) from error

    def _path(self, key: str) -> Path:
        path = self._objects / key
        if ".." in path.parts or not path.is_relative_to(self._objects):
            raise VersionConflict(f"{key!r} is not a key", key=key)
        return path

    def _read(self, key: str) -> Stored | None:
        try:
            data = self._path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Stored(data[_HEAD_BYTES:], self._version(key, data[:_HEAD_BYTES]))

    def _read_range(self, key: str, start: int, length: int) -> bytes | None:
        try:
            with self._path(key).open("rb") as file:
                self._version(key, file.read(_HEAD_BYTES))
                file.seek(_HEAD_BYTES + start)
                return file.read(length)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _version(self, key: str, head: bytes) -> Version:
        if len(head) != _HEAD_BYTES or not head.startswith(_HEAD):
            raise BackendFailed(f"{self.name}: {key} was not written by Holdfast", maybe_done=False)
        return Version(head[len(_HEAD) : -1].decode())

    def _current(self, path: Path, key: str) -> Version | None:
        try:
            with path.open("rb") as file:
                return self._version(key, file.read(_HEAD_BYTES))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _write(self, key: str, body: bytes, expected: Version | None) -> Version:
        path, version = self._path(key), Version(new_id())
        self._parts.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = self._parts / version
        try:
            with part.open("xb") as file:
                file.write(_HEAD + version.encode() + b"\n" + body)
                file.flush()
                os.fsync(file.fileno())
            with self._locked(key):
                if self._current(path, key) != expected:
                    raise conflict(key, self.name)
                part.replace(path)
            # Outside the lock, which a stopped process would keep: a writer that builds on this
            # version syncs the same folder before it returns.
            _sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)
        return version

    def _remove(self, key: str, expected: Version | None) -> None:
        path = self._path(key)
        with self._locked(key):
            if expected is not None and self._current(path, key) != expected:
                raise conflict(key, self.name)
            path.unlink(missing_ok=True)

    def _entries(self, prefix: str) -> Sequence[Entry]:
        folder = self._objects / prefix.rpartition("/")[0]
        if not folder.is_dir():
            return []
        found = []
        for place, _, names in os.walk(folder, onerror=_unless_gone):
            for path in (Path(place, name) for name in names):
                key = path.relative_to(self._objects).as_posix()
                with contextlib.suppress(FileNotFoundError):
                    if key.startswith(prefix) and path.is_file():
                        found.append(Entry(key, path.stat().st_size - _HEAD_BYTES))
        return sorted(found, key=lambda entry: entry.key)

    @contextlib.contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Hold the lock of a key. Its file is never removed, so all processes lock the same one."""
        self._locks.mkdir(parents=True, exist_ok=True)
        lock = self._locks / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        with lock.open("ab") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > deadline:
                        message = f"{self.name}: the lock of {key} is held by a stopped process"
                        raise BackendFailed(message, maybe_done=False) from error
                except OSError as error:
                    if error.errno != errno.EINTR:
                        raise
                time.sleep(_LOCK_LOOK_S)
            yield


def _unless_gone(error: OSError) -> None:
    """Raise an error of listing a folder: what it holds would be missing unnoticed."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
