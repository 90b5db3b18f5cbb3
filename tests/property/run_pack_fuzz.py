"""Fuzz of packs: mutated archives and folders, in a process of its own like `run_machine`."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.host.packs import (
    PrivateKey,
    Trust,
    archive,
    build,
    load_archive,
    load_folder,
    manifest,
    sign,
)
from tests.property.running import thorough
from tests.support.packs import FULL, files_of, pack_of, write_folder

KEY = PrivateKey.generate()
TRUST = Trust(keys=frozenset({KEY.public}))
OPEN = Trust(unsigned=True)
FILES = files_of(FULL)
SIGNED = sign(build(pack_of(FILES)), KEY)
PARTS = archive.read(SIGNED)
#: Where headers of the archive are: changes there are more telling than in the files.
HEADERS = [place for place in range(len(SIGNED)) if SIGNED[place : place + 2] == b"PK"]

NAMES = st.one_of(
    st.sampled_from((*FILES, "pack.yml", "../a", "/a", "flows/a.yaml", "FLOWS/main.yaml")),
    st.sampled_from(("manifest.json", "signatures.json", "assets/logo.txt/x", "assets/é", "nul")),
    st.text(max_size=12),
)
CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from((b"", b"id: a\nversion: 1.0.0\n", b"{" * 5_000, b"- " * 2_000, b"a: *a")),
)
WORDS = (
    *("id", "kind", "[]", "{}", "null", "5", "main", "&a", "*a", "<<", "!!int", "- ", ": ", "\n"),
    *("when", "dispatch", "x/y", "'", '"', "1e999", "\x00", "\t", "é", "components/../a"),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw the archive with some of its bytes changed, removed or added."""
    data = bytearray(SIGNED)
    for _ in range(draw(st.integers(1, 4))):
        near = draw(st.sampled_from(HEADERS)) + draw(st.integers(0, 46))
        place = min(draw(st.one_of(st.just(near), st.integers(0, len(data)))), len(data))
        size = draw(st.sampled_from((1, 1, 2, 4, 30)))
        kind = draw(st.sampled_from(("set", "set", "cut", "insert", "end", "copy")))
        if kind == "set":
            data[place : place + size] = draw(st.binary(min_size=size, max_size=size))
        elif kind == "cut":
            del data[place : place + size]
        elif kind == "insert":
            data[place:place] = draw(st.binary(max_size=size))
        elif kind == "copy":
            data[place:place] = data[: size * 20]
        else:
            del data[place:]
    return bytes(data)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, bytes]:
    """Draw the files of a pack with words of its YAML changed and files added or removed."""
    files = dict(FILES)
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(("word", "word", "word", "add", "remove")))
        if kind == "add":
            files[draw(NAMES)] = draw(CONTENTS)
        elif kind == "remove" and files:
            del files[draw(st.sampled_from(sorted(files)))]
        elif "pack.yaml" in files:
            data = files["pack.yaml"]
            place = draw(st.integers(0, len(data)))
            size = draw(st.integers(0, 12))
            word = draw(st.sampled_from(WORDS)).encode()
            files["pack.yaml"] = data[:place] + word + data[place + size :]
    return files


def _try(action: Any, *arguments: Any) -> Any:
    """Do something that may be refused, in no other way than with InvalidInput."""
    try:
        return action(*arguments)
    except InvalidInput as error:
        str(error)
        return None


@thorough(1_000, large=50_000)
@given(damaged())
def archives(data: bytes) -> None:
    """A damaged archive is refused, or is the pack that was signed."""
    for trust in (TRUST, OPEN):
        pack = _try(load_archive, data, trust)
        if pack is not None and pack.verdict.origin == "trusted":
            assert dict(pack.files) == FILES
    _try(sign, data, KEY)


@thorough(1_000, large=50_000)
@given(st.one_of(mutated(), st.dictionaries(NAMES, CONTENTS, max_size=6)))
def contents(files: dict[str, bytes]) -> None:
    """Whatever is in the files, with or without a manifest that fits them."""
    described = manifest.describe("a", "1.0.0", files)
    _try(load_archive, archive.write(files), OPEN)
    data = archive.write({**files, "manifest.json": described.data})
    pack = _try(load_archive, data, OPEN)
    if pack is not None:
        assert build(pack) == data
    mixed = archive.write({**PARTS, **files})
    pack = _try(load_archive, mixed, TRUST)
    assert pack is None or dict(pack.files) == FILES


@thorough(1_000, large=20_000)
@given(mutated())
def folders(files: dict[str, bytes]) -> None:
    """Whatever is in a folder, it is built and then loads, or it is refused."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, data in files.items():
            try:
                write_folder(folder, {path.lstrip("/").replace("..", "."): data})
            except (OSError, ValueError):
                continue
        pack = _try(load_folder, folder)
        if pack is not None:
            assert load_archive(build(pack), OPEN).files == pack.files


if __name__ == "__main__":
    logging.disable()
    archives()
    contents()
    folders()
