"""Packs for tests: the files of a small one, and archives that are wrong in one way."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from holdfast.host.packs import Pack, manifest, reader
from holdfast.host.packs.signatures import Origin, Verdict

PACK = """\
id: support
version: 1.2.0
entry: main
components:
  orders: {kind: wasm, source: components/orders.wasm, operations: [find, cancel]}
secrets: [MODEL_KEY]
models:
  small: {base_url: "https://models.example.org/v1", model: tiny, key_secret: MODEL_KEY}
"""
#: Every field of pack.yaml.
FULL = """\
id: support.eu
version: 1.2.0-rc.1+build.5
entry: main
flows: [main.yaml, flows/helper.yaml]
components:
  orders:
    kind: wasm
    source: components/orders.wasm
    operations: [find, cancel, route]
    limits: {timeout: 10s, memory_mb: 64, fuel: 1000000, output_kb: 128}
  remote: {kind: http, source: "https://api.example.org/v1", operations: [send, identify]}
providers:
  - {type: slack, component: remote, operations: [send], identify: {headers: [X-Team]}}
welcome: helper
routing:
  rules:
    - {when: "input.text == 'hi'", dispatch: main, entities: {a: 1}}
    - {when: "true", dispatch: other/flow}
    - {when: "true", respond: "Closed today"}
    - {when: "true", deny: "No"}
  component: orders
  budget_ms: 100
  on_error: fail
busy: merge
schedules:
  - {flow: main, cron: "0 8 * * 1", timezone: Europe/Berlin}
secrets: [MODEL_KEY, other.key]
http_allow: [api.example.org, "*.example.com:8443"]
requires: [gpu]
models:
  small: {base_url: "http://localhost:8000/v1", model: tiny, key_secret: MODEL_KEY}
"""
MAIN = """\
id: main
type: messaging
nodes:
  hello:
    emit: {text: "Hello"}
    out: end
"""
HELPER = """\
id: helper
type: messaging
internal: true
nodes:
  bye:
    emit: {text: "Bye"}
"""


def files_of(pack: str = PACK, **others: str) -> dict[str, bytes]:
    """Return the files of a small pack; `others` replace or add flows by name."""
    flows = {"main": MAIN, "helper": HELPER, **others}
    return {
        "pack.yaml": pack.encode(),
        **{f"flows/{name}.yaml": text.encode() for name, text in flows.items()},
        "components/orders.wasm": b"\x00asm\x01\x00\x00\x00",
        "assets/logo.txt": b"logo",
        "tests/hello.yaml": b"tests: {Hello: [{say: hello}]}\n",
    }


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a folder and return it."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def pack_of(files: Mapping[str, bytes] | None = None) -> Pack:
    """Return the pack of files, as if they were read from a folder."""
    files = files_of() if files is None else files
    definition = reader.read(files)
    described = manifest.describe(definition.id, definition.version, files)
    return Pack(definition, files, described, Verdict(Origin.UNSIGNED))


class Zip:
    """Writes zip archives, honest or not, field by field."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.directory = bytearray()
        self.count = 0

    def add(
        self,
        name: str | bytes,
        data: bytes = b"",
        *,
        deflate: bool = False,
        mode: int = 0o100644,
        flags: int = 0,
        method: int | None = None,
        size: int | None = None,
        crc: int | None = None,
        local_name: bytes | None = None,
        local_size: int | None = None,
        extra: bytes = b"",
        offset: int | None = None,
    ) -> Zip:
        """Add a file; what is given replaces what an honest archive would say."""
        raw = name.encode() if isinstance(name, str) else name
        packed = data
        if deflate:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = packer.compress(data) + packer.flush()
        method = (8 if deflate else 0) if method is None else method
        size = len(data) if size is None else size
        crc = zlib.crc32(data) if crc is None else crc
        start = len(self.body) if offset is None else offset
        local = raw if local_name is None else local_name
        inner = size if local_size is None else local_size
        self.body += struct.pack(
            *("<4s5H3I2H", b"PK\x03\x04", 20, flags, method, 0, 33, crc, len(packed), inner),
            *(len(local), len(extra)),
        )
        self.body += local + extra + packed
        self.directory += struct.pack(
            *("<4s4B4H3I5H2I", b"PK\x01\x02", 20, 3, 20, 0, flags, method, 0, 33, crc),
            *(len(packed), size, len(raw), 0, 0, 0, 0, mode << 16, start),
        )
        self.directory += raw
        self.count += 1
        return self

    def done(self, *, gap: bytes = b"", tail: bytes = b"", comment: int = 0) -> bytes:
        """Return the archive."""
        end = struct.pack(
            *("<4s4H2IH", b"PK\x05\x06", 0, 0, self.count, self.count, len(self.directory)),
            *(len(self.body) + len(gap), comment),
        )
        return bytes(self.body + gap + self.directory + end + tail)
