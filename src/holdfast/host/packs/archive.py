"""The archive of a pack: a plain zip that is the same, byte for byte, for the same files.

Files are stored without compression, sorted, with fixed times and modes: two versions of zlib
compress differently, and an archive must not depend on the machine that made it.

The reader trusts nothing. It accepts the plain form of zip only, where every byte belongs to
exactly one header, file or directory entry, so that no two programs can see different files.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.host.packs import limits, paths
from holdfast.host.packs.problems import Problem, refuse

STORED = 0
DEFLATED = 8

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s4B4H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_MARK = b"PK\x03\x04"
_CENTRAL_MARK = b"PK\x01\x02"
_END_MARK = b"PK\x05\x06"
_VERSION = 20
_UNIX = 3
_UTF8 = 0x0800
_DATE = (1 << 5) | 1  # 1980-01-01, the first day that zip has
_MODE = (stat.S_IFREG | 0o644) << 16
_NO_SIZE = 0xFFFFFFFF
_MANY = 0xFFFF


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as the directory of an archive describes it."""

    name: str
    raw_name: bytes
    flags: int
    method: int
    time: int
    date: int
    crc: int
    packed: int
    size: int
    offset: int


def write(files: Mapping[str, bytes]) -> bytes:
    """Return the archive of files, in the order of their names."""
    body = bytearray()
    directory = bytearray()
    for name in sorted(files):
        data = files[name]
        raw = name.encode("utf-8")
        flags = 0 if name.isascii() else _UTF8
        crc = zlib.crc32(data)
        size = len(data)
        common = (flags, STORED, 0, _DATE, crc, size, size, len(raw), 0)
        directory += _CENTRAL.pack(
            _CENTRAL_MARK, _VERSION, _UNIX, _VERSION, 0, *common, 0, 0, 0, _MODE, len(body)
        )
        directory += raw
        body += _LOCAL.pack(_LOCAL_MARK, _VERSION, *common) + raw + data
    end = _END.pack(_END_MARK, 0, 0, len(files), len(files), len(directory), len(body), 0)
    return bytes(body + directory + end)


def read(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive; raises InvalidPack for anything that is not plain."""
    if len(data) > limits.ARCHIVE_BYTES:
        message = f"the archive has {len(data)} bytes, and {limits.ARCHIVE_BYTES} are allowed"
        refuse(Problem.TOO_LARGE, message, limit=limits.ARCHIVE_BYTES)
    count, start, end = _end_of(data)
    entries = _directory(data, count, start, end)
    for entry in entries:
        _check_ratio(entry)
    paths.check_distinct(entry.name for entry in entries)
    paths.check_sizes((entry.name, entry.size) for entry in entries)
    places = _places(data, entries, start)
    return {
        entry.name: _content(entry, data[place : place + entry.packed])
        for entry, place in zip(entries, places, strict=True)
    }


def _end_of(data: bytes) -> tuple[int, int, int]:
    """Return how many files there are, and where the directory starts and ends."""
    if len(data) < _END.size or data[-_END.size : -_END.size + 4] != _END_MARK:
        if data.rfind(_END_MARK, max(0, len(data) - _END.size - _MANY)) >= 0:
            refuse(Problem.UNSUPPORTED_ARCHIVE, "the archive has a comment or bytes after its end")
        if data[:4] == _LOCAL_MARK:
            refuse(Problem.DAMAGED_ARCHIVE, "the archive is cut short: it has no directory")
        refuse(Problem.NOT_AN_ARCHIVE, "this is not an .hfpack archive")
    _, disk, first, here, count, size, start, comment = _END.unpack(data[-_END.size :])
    if comment:
        refuse(Problem.DAMAGED_ARCHIVE, "the archive is cut short: its comment is missing")
    if disk or first or here != count or count == _MANY or _NO_SIZE in {size, start}:
        refuse(Problem.UNSUPPORTED_ARCHIVE, "the archive is zip64, or one of several parts")
    end = len(data) - _END.size
    if start + size != end:
        message = "the directory of the archive is not where its end says"
        refuse(Problem.HEADER_MISMATCH, message)
    return count, start, end


def _directory(data: bytes, count: int, start: int, end: int) -> list[Entry]:
    if count > limits.FILES + 2:
        message = f"the archive has {count} files, and {limits.FILES} are allowed"
        refuse(Problem.TOO_MANY_FILES, message, limit=limits.FILES)
    entries = []
    place = start
    for _ in range(count):
        if place + _CENTRAL.size > end:
            refuse(Problem.DAMAGED_ARCHIVE, "the directory of the archive is cut short")
        entry, place = _central(data, place, end)
        entries.append(entry)
    if place != end:
        refuse(Problem.HEADER_MISMATCH, "the directory of the archive has more than it counts")
    return entries


def _central(data: bytes, place: int, end: int) -> tuple[Entry, int]:
    """Return an entry of the directory and the place behind it."""
    fields = _CENTRAL.unpack_from(data, place)
    mark, _, system, _, _, flags, method, time, date, crc, packed, size = fields[:12]
    name_size, extra, comment, disk, _, attributes, offset = fields[12:]
    if mark != _CENTRAL_MARK:
        refuse(Problem.DAMAGED_ARCHIVE, "the directory of the archive is damaged")
    place += _CENTRAL.size
    if place + name_size + extra + comment > end:
        refuse(Problem.DAMAGED_ARCHIVE, "the directory of the archive is cut short")
    raw = data[place : place + name_size]
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        shown = repr(raw[:40])
        refuse(Problem.UNSAFE_PATH, f"the name {shown} is not UTF-8")
    kind = stat.S_IFMT(attributes >> 16)
    if system == _UNIX and stat.S_ISLNK(kind):
        refuse(Problem.SYMLINK, f"`{name[:80]}` is a symbolic link", file=name[:200])
    if name.endswith("/") or (system == _UNIX and kind not in {0, stat.S_IFREG}):
        refuse(Problem.NOT_A_FILE, f"`{name[:80]}` is not a file", file=name[:200])
    paths.check(name)
    if flags & ~_UTF8 or method not in {STORED, DEFLATED} or extra or comment or disk:
        message = (
            f"`{name}` is encrypted, compressed in an unknown way, or has extra fields; "
            "make the archive with `holdfast pack build`"
        )
        refuse(Problem.UNSUPPORTED_ARCHIVE, message, file=name)
    entry = Entry(name, raw, flags, method, time, date, crc, packed, size, offset)
    return entry, place + name_size


def _check_ratio(entry: Entry) -> None:
    if entry.size > limits.RATIO_BYTES and entry.size > limits.RATIO * entry.packed:
        message = (
            f"`{entry.name}` has {entry.packed} bytes in the archive and {entry.size} when it is "
            f"read; a file may expand {limits.RATIO} times"
        )
        refuse(Problem.BOMB, message, file=entry.name, limit=limits.RATIO)


def _places(data: bytes, entries: list[Entry], end: int) -> list[int]:
    """Return where the contents start; every byte before the directory belongs to one file."""
    places = dict.fromkeys(range(len(entries)), 0)
    expected = 0
    for index in sorted(places, key=lambda position: entries[position].offset):
        entry = entries[index]
        if entry.offset != expected or expected + _LOCAL.size > end:
            message = f"`{entry.name}` overlaps another file, or unknown bytes are before it"
            refuse(Problem.HEADER_MISMATCH, message, file=entry.name)
        mark, _, flags, method, time, date, crc, packed, size, name_size, extra = (
            _LOCAL.unpack_from(data, entry.offset)
        )
        place = entry.offset + _LOCAL.size
        local = (flags, method, time, date, crc, packed, size, extra)
        central = (entry.flags, entry.method, entry.time, entry.date, entry.crc)
        raw = data[place : place + name_size]
        if (
            mark != _LOCAL_MARK
            or local != (*central, entry.packed, entry.size, 0)
            or raw != entry.raw_name
        ):
            message = f"the header of `{entry.name}` differs from the directory of the archive"
            refuse(Problem.HEADER_MISMATCH, message, file=entry.name)
        places[index] = place + name_size
        expected = places[index] + entry.packed
    if expected != end:
        refuse(Problem.HEADER_MISMATCH, "the archive has bytes that belong to no file")
    return list(places.values())


def _content(entry: Entry, packed: bytes) -> bytes:
    """Return the content of a file, never more of it than the directory says."""
    content = packed
    if entry.method == DEFLATED:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflater.decompress(packed, entry.size + 1)
        except zlib.error as error:
            message = f"`{entry.name}` is damaged ({error})"
            refuse(Problem.DAMAGED_ARCHIVE, message, file=entry.name)
        if len(content) > entry.size:
            message = f"`{entry.name}` has more content than the directory of the archive says"
            refuse(Problem.BOMB, message, file=entry.name)
        if not inflater.eof or inflater.unused_data:
            message = f"`{entry.name}` is cut short, or has bytes after its end"
            refuse(Problem.DAMAGED_ARCHIVE, message, file=entry.name)
    if len(content) != entry.size or zlib.crc32(content) != entry.crc:
        message = f"`{entry.name}` is damaged: its checksum is wrong"
        refuse(Problem.DAMAGED_ARCHIVE, message, file=entry.name)
    return content
