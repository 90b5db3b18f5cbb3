"""Append-only files of a server, cut at a time.

A folder of them has a manifest, perhaps a base, which is a dump of all data, and files with the
commands since then. A server with `aof-timestamp-enabled` notes the time between commands, with a
precision of a second. The commands of a function stand between MULTI and EXEC: they are cut
together.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from holdfast.errors import InvalidRecord
from holdfast.model.moments import from_ms

#: The folder in that of a server, and the manifest in it, by the server's defaults.
FOLDER = "appendonlydir"
MANIFEST = "appendonly.aof.manifest"
_DUMPS = (b"REDIS", b"VALKEY")
_NOTE = b"#TS:"
#: The field of a dump with its time; a 32-bit number follows.
_DUMPED_AT = b"\xfa\x05ctime\xc2"
_DUMP_HEAD = 512


@dataclass(frozen=True, slots=True)
class Cut:
    """Files that are cut: what was kept of them."""

    #: The time of the last command that was kept, in seconds; of the base, if there is none.
    last_s: int
    bytes: int


def cut(source: Path, target: Path, at_s: int) -> Cut:
    """Copy append-only files as they were at the end of a second, into a folder that is made.

    Raises InvalidRecord if they do not say when commands came, or do not reach back so far, and
    OSError if the folder cannot be made.
    """
    lines = _manifest(source)
    # A server takes a folder without its manifest for an empty store.
    draft = target.with_name(f"{target.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        made = _cut(lines, source, draft, at_s)
        draft.rename(target)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError):
            message = (
                f"{source} cannot be copied to {target}: {error}; "
                "if its server has just rewritten it, try again"
            )
            raise InvalidRecord(message, name="") from error
        raise
    return made


def _cut(lines: list[tuple[str, str, bool]], source: Path, target: Path, at_s: int) -> Cut:
    cutting = _Cutting(at_s)
    kept: list[str] = []
    size = 0
    for line, name, is_base in lines:
        end = cutting.end_of(source / name, is_base=is_base)
        _copy(source / name, target / name, end)
        kept.append(line)
        size += end
        if cutting.is_over:
            break
    (target / MANIFEST).write_text("".join(f"{line}\n" for line in kept))
    return Cut(cutting.last_s, size)


class _Cutting:
    """Reads files in their order up to a time."""

    def __init__(self, at_s: int) -> None:
        self._at_s = at_s
        #: Whether there was a time among the commands so far.
        self._is_noted = False
        #: The time of what was read last.
        self.last_s = at_s
        #: Whether all that follows is of a later time.
        self.is_over = False

    def end_of(self, path: Path, *, is_base: bool) -> int:
        """Return the size of what is kept of a file."""
        dumped_s = _dumped_at(path)
        if dumped_s is None:
            return self._end_of_commands(path, is_base=is_base)
        self._reach(path, dumped_s)
        self.last_s = dumped_s
        return path.stat().st_size

    def _end_of_commands(self, path: Path, *, is_base: bool) -> int:
        end = 0
        block: int | None = None
        with path.open("rb") as file:
            for start, name in _entries(file):
                if name.startswith(_NOTE):
                    noted_s = _number(file, start, name[len(_NOTE) :])
                    self._note(path, noted_s, has_earlier=is_base or start > 0)
                    if self.is_over:
                        end = start
                        break
                elif name == b"MULTI":
                    block = start
                elif name == b"EXEC":
                    block = None
                end = file.tell()
        if end and not self._is_noted:
            message = (
                f"{path} does not say when its commands came: its server must run with "
                "`aof-timestamp-enabled yes`"
            )
            raise InvalidRecord(message, name=path.name)
        return end if block is None else block

    def _note(self, path: Path, noted_s: int, *, has_earlier: bool) -> None:
        if has_earlier and not self._is_noted:
            # Commands before the first note are of some time until then, and so is all of a base.
            self._reach(path, noted_s)
        self._is_noted = True
        self.is_over = noted_s > self._at_s
        if not self.is_over:
            self.last_s = noted_s

    def _reach(self, path: Path, begins_s: int) -> None:
        if self._at_s < begins_s:
            message = (
                f"{path} begins at {from_ms(begins_s * 1000).isoformat()}, after the time that was "
                "asked for: use a copy from before the server rewrote it, or a backup"
            )
            raise InvalidRecord(message, name=path.name)


def _manifest(source: Path) -> list[tuple[str, str, bool]]:
    """Return the lines of files that are in use, their names and whether they are the base."""
    try:
        text = (source / MANIFEST).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"{source} has no append-only files: {error}", name="") from error
    found = []
    for line in text.splitlines():
        words = line.split()
        facts = dict(zip(words[::2], words[1::2], strict=False))
        if facts.get("type") in ("b", "i") and "file" in facts:
            found.append((line, Path(facts["file"]).name, facts["type"] == "b"))
    if not found:
        raise InvalidRecord(f"{source} has no append-only files: its manifest lists none", name="")
    return found


def _dumped_at(path: Path) -> int | None:
    """Return when a dump was made; None if the file is not a dump."""
    with path.open("rb") as file:
        head = file.read(_DUMP_HEAD)
    if not head.startswith(_DUMPS):
        return None
    place = head.find(_DUMPED_AT)
    if place < 0:
        raise InvalidRecord(f"{path} does not say when it was made", name=path.name)
    first = place + len(_DUMPED_AT)
    return int.from_bytes(head[first : first + 4], "little")


def _entries(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the place and the name of each command, and notes; stops at what is not whole."""
    while True:
        start = file.tell()
        line = file.readline()
        if not line.endswith(b"\n"):
            return
        if line.startswith(b"#"):
            yield start, line.strip()
            continue
        if not line.startswith(b"*"):
            raise _damaged(file, start)
        words = [_word(file, start) for _ in range(_number(file, start, line[1:]))]
        if None in words:
            return
        yield start, (words[0] if words and words[0] else b"").upper()


def _number(file: IO[bytes], start: int, text: bytes) -> int:
    """Return a number in the entry that starts there."""
    if not text.strip().isdigit():
        raise _damaged(file, start)
    return int(text)


def _damaged(file: IO[bytes], start: int) -> InvalidRecord:
    return InvalidRecord(f"{file.name} is damaged at byte {start}", name=file.name)


def _word(file: IO[bytes], start: int) -> bytes | None:
    """Return the next word of a command; None if it is not whole."""
    head = file.readline()
    if not head.endswith(b"\n"):
        return None
    if not head.startswith(b"$"):
        raise _damaged(file, start)
    size = _number(file, start, head[1:])
    word = file.read(size + 2)
    return word[:size] if len(word) == size + 2 else None


def _copy(path: Path, target: Path, size: int) -> None:
    with path.open("rb") as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
        copy.truncate(size)
