"""Compiled code on disk, so that a host that starts again does not compile again.

Compiled code runs without checks: a process that can write the files controls the host. The folder
must therefore belong to this user, and no other user may write to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from holdfast.errors import InvalidInput

_DIGEST_BYTES = 32


class Cache:
    """A folder of compiled code, by the digest of what was compiled and how."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, and make it if it is missing; raises InvalidInput if it is not safe."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.lstat()
        except OSError as error:
            message = f"cache: cannot use {folder} ({error.strerror})"
            raise InvalidInput(message, field="cache") from error
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not is_ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            message = (
                f"cache: {folder} must be a folder of this user that no other user can write to"
            )
            raise InvalidInput(message, field="cache")
        self._folder = folder

    def read(self, key: str) -> bytes | None:
        """Return compiled code; None if there is none or if the file is damaged."""
        try:
            with (self._folder / key).open("rb") as file:
                if os.fstat(file.fileno()).st_uid != os.geteuid():
                    return None
                data = file.read()
        except OSError:
            return None
        code = data[_DIGEST_BYTES:]
        return code if hashlib.sha256(code).digest() == data[:_DIGEST_BYTES] else None

    def write(self, key: str, code: bytes) -> None:
        """Keep compiled code. A disk that is full only means that the next host compiles."""
        name = ""
        try:
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                name = file.name
                file.write(hashlib.sha256(code).digest() + code)
            Path(name).replace(self._folder / key)
        except OSError:
            with contextlib.suppress(OSError):
                Path(name).unlink()
