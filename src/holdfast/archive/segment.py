r"""A segment: many executions in one object.

    HFSEG1\n | block | block | ... | index

A block is a zlib-compressed list of rows of one tenant and one day, so that reading one execution
costs little and erasing a tenant copies the blocks of others unchanged. The index is a compressed
list of the fields of each row that lists and look-ups need; the manifest says where it starts.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from holdfast.errors import InvalidRecord
from holdfast.model import exports
from holdfast.model.exports import Exported
from holdfast.model.moments import from_ms

MAGIC = b"HFSEG1\n"
FORMAT = 1
#: The size of a block before compression: one look-up has to read and unpack this much.
BLOCK_BYTES = 256 << 10
_LEVEL = 6

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


class Line(msgspec.Struct, array_like=True, frozen=True):
    """The entry of a row in the index."""

    id: str
    #: The birth stamp in us.
    born: int
    #: How often it had been replayed.
    run: int
    tenant: str
    lane: str
    kind: str
    state: str
    ended_ms: int
    tags: dict[str, str]
    #: The number of the block and the position in it.
    block: int
    place: int

    @property
    def identity(self) -> tuple[str, int, int]:
        """The identity of an end, which occurs once in the archive."""
        return self.id, self.born, self.run


class Block(msgspec.Struct, array_like=True, frozen=True):
    """Where a block is."""

    tenant: str
    day: str
    start: int
    length: int
    rows: int


class Index(msgspec.Struct, array_like=True, frozen=True):
    """The index of a segment."""

    format: int
    blocks: list[Block]
    lines: list[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The entry of a segment in the manifest."""

    rows: int
    bytes: int
    sha256: str
    index_start: int
    index_bytes: int
    #: Rows by tenant.
    tenants: dict[str, int]
    first_day: str
    last_day: str
    first_born: int
    last_born: int
    first_id: str
    last_id: str
    format: int = FORMAT
    kind: str = "segment"

    def to_value(self) -> dict[str, Any]:
        """Return the JSON value."""
        return asdict(self)


def entry_of(name: str, value: Any) -> Entry:
    """Decode an entry of the manifest; raises InvalidRecord."""
    try:
        return msgspec.convert(value, Entry)
    except msgspec.ValidationError as error:
        raise InvalidRecord(f"{name}: {error}", object=name) from error


@dataclass(slots=True)
class Builder:
    """Builds a segment, block by block."""

    _body: bytearray = field(default_factory=lambda: bytearray(MAGIC))
    _blocks: list[Block] = field(default_factory=list)
    _lines: list[Line] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._lines)

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of its index."""
        return self._lines

    def add(self, executions: Iterable[Exported]) -> None:
        """Add executions; they are grouped by tenant and day."""
        groups: dict[tuple[str, str], list[Exported]] = {}
        for execution in executions:
            groups.setdefault((execution.tenant, day_of(execution.ended_ms)), []).append(execution)
        for (tenant, day), members in sorted(groups.items()):
            for chunk in _chunks(members):
                self._add_block(tenant, day, chunk)

    def _add_block(self, tenant: str, day: str, members: list[tuple[Exported, bytes]]) -> None:
        raw = b"".join(packed for _, packed in members)
        data = zlib.compress(raw, _LEVEL)
        number = len(self._blocks)
        self._blocks.append(Block(tenant, day, len(self._body), len(data), len(members)))
        self._body += data
        for place, (one, _) in enumerate(members):
            self._lines.append(_line(one, number, place))

    def copy(self, other: Segment, *, without_tenant: str | None = None) -> None:
        """Add the blocks of another segment unchanged, except those of a tenant."""
        numbers: dict[int, int] = {}
        for number, block in enumerate(other.index.blocks):
            if block.tenant != without_tenant:
                numbers[number] = len(self._blocks)
                data = other.body[block.start : block.start + block.length]
                self._blocks.append(msgspec.structs.replace(block, start=len(self._body)))
                self._body += data
        for line in other.index.lines:
            if line.block in numbers:
                self._lines.append(msgspec.structs.replace(line, block=numbers[line.block]))

    def finish(self) -> tuple[bytes, Entry]:
        """Return the bytes and their entry in the manifest."""
        start = len(self._body)
        index = zlib.compress(_pack(Index(FORMAT, self._blocks, self._lines)), _LEVEL)
        body = bytes(self._body) + index
        tenants: dict[str, int] = {}
        for block in self._blocks:
            tenants[block.tenant] = tenants.get(block.tenant, 0) + block.rows
        born, ids = [line.born for line in self._lines], [line.id for line in self._lines]
        days = [block.day for block in self._blocks]
        entry = Entry(
            rows=self.rows,
            bytes=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
            index_start=start,
            index_bytes=len(index),
            tenants=tenants,
            first_day=min(days),
            last_day=max(days),
            first_born=min(born),
            last_born=max(born),
            first_id=min(ids),
            last_id=max(ids),
        )
        return body, entry


@dataclass(frozen=True, slots=True)
class Segment:
    """A whole segment in memory, with a verified digest."""

    body: bytes
    index: Index

    def rows(self) -> Iterator[tuple[Line, Exported]]:
        """Iterate over its executions, each with its index entry."""
        places: dict[int, list[Line]] = {}
        for line in self.index.lines:
            places.setdefault(line.block, []).append(line)
        for number, block in enumerate(self.index.blocks):
            rows = rows_of(self.body[block.start : block.start + block.length])
            for line in places.get(number, ()):
                yield line, rows[line.place]


def open_segment(name: str, entry: Entry, body: bytes) -> Segment:
    """Check the bytes of a segment against the manifest; raises InvalidRecord."""
    if len(body) != entry.bytes or hashlib.sha256(body).hexdigest() != entry.sha256:
        message = f"{name} has changed since it was committed: its digest differs"
        raise InvalidRecord(message, object=name)
    data = body[entry.index_start : entry.index_start + entry.index_bytes]
    return Segment(body, index_of(name, data))


def index_of(name: str, data: bytes) -> Index:
    """Decode an index; raises InvalidRecord."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(data), type=Index)
    except (zlib.error, msgspec.DecodeError) as error:
        raise InvalidRecord(f"the index of {name} is damaged ({error})", object=name) from error


def rows_of(data: bytes) -> list[Exported]:
    """Decode a block; raises InvalidRecord."""
    rows = []
    try:
        raw = zlib.decompress(data)
        at = 0
        while at < len(raw):
            length = int.from_bytes(raw[at : at + 4], "big")
            rows.append(exports.from_row(_unpack(raw[at + 4 : at + 4 + length])))
            at += 4 + length
    except (zlib.error, msgspec.DecodeError, ValueError) as error:
        raise InvalidRecord(f"a block is damaged ({error})") from error
    return rows


def day_of(ms: int) -> str:
    """Return the UTC day of a moment."""
    return from_ms(ms).date().isoformat()


def _chunks(members: list[Exported]) -> Iterator[list[tuple[Exported, bytes]]]:
    """Split rows into blocks; each row is preceded by its length."""
    chunk: list[tuple[Exported, bytes]] = []
    size = 0
    for execution in sorted(members, key=lambda execution: execution.born):
        packed = _pack(execution.to_row())
        chunk.append((execution, len(packed).to_bytes(4, "big") + packed))
        size += len(packed)
        if size >= BLOCK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _line(execution: Exported, block: int, place: int) -> Line:
    return Line(
        id=execution.id,
        born=execution.born,
        run=execution.run,
        tenant=execution.tenant,
        lane=execution.lane,
        kind=execution.kind,
        state=execution.state,
        ended_ms=execution.ended_ms,
        tags=execution.tags(),
        block=block,
        place=place,
    )
