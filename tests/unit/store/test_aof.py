"""Append-only files, cut at a time."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from holdfast.errors import InvalidRecord
from holdfast.store.valkey import aof

DUMP = b"VALKEY080\xfa\x05ctime\xc2" + (100).to_bytes(4, "little") + b"\xff"


def command(*words: str) -> bytes:
    """Return a command as a server writes it."""
    parts = (b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)
    return b"*%d\r\n" % len(words) + b"".join(parts)


def note(at_s: int) -> bytes:
    """Return the time of the commands that follow."""
    return b"#TS:%d\r\n" % at_s


ONE, TWO, THREE = (command("SET", name, "\r\n#TS:1\r\n") for name in ("one", "two", "three"))


def write(folder: Path, *files: bytes) -> Path:
    """Write a base and files of commands; returns their folder."""
    folder.mkdir()
    lines = []
    for number, content in enumerate(files):
        name = f"appendonly.aof.{number}"
        (folder / name).write_bytes(content)
        lines.append(f"file {name} seq {number or 1} type {'i' if number else 'b'}\n")
    lines.append("file appendonly.aof.gone seq 1 type h\n")
    (folder / aof.MANIFEST).write_text("".join(lines))
    return folder


def cut(tmp_path: Path, at_s: int, *files: bytes) -> list[bytes]:
    """Cut files; returns what is left of each."""
    target = tmp_path / "target"
    source = write(tmp_path / "source", *files)
    aof.cut(source, target, at_s)
    names = [line.split()[1] for line in (target / aof.MANIFEST).read_text().splitlines()]
    assert sorted(path.name for path in target.iterdir()) == sorted([*names, aof.MANIFEST])
    return [(target / name).read_bytes() for name in names]


@pytest.mark.parametrize(
    ("at_s", "left"),
    [
        (100, [b""]),
        (101, [note(101) + ONE]),
        (102, [note(101) + ONE + note(102) + TWO, THREE]),
        (103, [note(101) + ONE + note(102) + TWO, THREE + note(103) + ONE]),
        (999, [note(101) + ONE + note(102) + TWO, THREE + note(103) + ONE]),
    ],
)
def test_commands_are_kept_up_to_the_end_of_a_second(
    tmp_path: Path, at_s: int, left: list[bytes]
) -> None:
    """Across files; commands before the first note of a later file are of the time before."""
    files = (note(101) + ONE + note(102) + TWO, THREE + note(103) + ONE)
    assert cut(tmp_path, at_s, DUMP, *files) == [DUMP, *left]


def test_what_belongs_together_is_cut_together(tmp_path: Path) -> None:
    """A call whose end is too late is not there at all."""
    block = command("MULTI") + ONE + note(102) + TWO + command("EXEC")
    assert cut(tmp_path, 101, DUMP, note(101) + THREE + block) == [DUMP, note(101) + THREE]


@pytest.mark.parametrize("torn", [ONE[:-1], ONE[:9], b"*3", command("MULTI") + ONE])
def test_an_end_that_is_not_whole_is_left_out(tmp_path: Path, torn: bytes) -> None:
    """As a server that is being written to, or that was killed, leaves it."""
    assert cut(tmp_path, 200, DUMP, note(101) + ONE + torn) == [DUMP, note(101) + ONE]


def test_a_base_of_commands_is_read_like_the_others(tmp_path: Path) -> None:
    """A server may write it so."""
    assert cut(tmp_path, 101, note(100) + ONE, note(102) + TWO) == [note(100) + ONE, b""]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ((DUMP, ONE), "aof-timestamp-enabled"),
        ((DUMP, ONE + note(200) + TWO), "begins at 1970-01-01T00:03:20"),
        ((DUMP.replace(b"\x64", b"\x74"), b""), "begins at 1970-01-01T00:01:56"),
        ((b"VALKEY080\xff", b""), "does not say when it was made"),
        ((note(200) + ONE, note(201) + TWO), "begins at 1970-01-01T00:03:20"),
        ((DUMP, b"nonsense\r\n"), "damaged at byte 0"),
        ((DUMP, note(101) + b"*x\r\n"), "damaged at byte 9"),
        ((DUMP, note(101) + b"*1\r\nSET\r\n"), "damaged at byte 9"),
        ((DUMP, note(101) + b"*1\r\n$x\r\nSET\r\n"), "damaged at byte 9"),
        ((DUMP, note(101) + b"*1\r\n$-4\r\nSET\r\n"), "damaged at byte 9"),
        ((DUMP, b"#TS:soon\r\n" + ONE), "damaged at byte 0"),
    ],
)
def test_files_without_times_or_that_begin_later_are_refused(
    tmp_path: Path, files: tuple[bytes, ...], why: str
) -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidRecord, match=why):
        cut(tmp_path, 110, *files)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    """Such as that of a backup."""
    with pytest.raises(InvalidRecord, match="no append-only files"):
        aof.cut(tmp_path, tmp_path / "target", 1)


@pytest.mark.parametrize(
    "manifest", [b"", b"file appendonly.aof.0 seq 1 type h\n", b"type b\n", b"\xff type b\n"]
)
def test_a_manifest_that_names_no_files_is_refused(tmp_path: Path, manifest: bytes) -> None:
    """Nothing would be left of the store."""
    source = write(tmp_path / "source", DUMP)
    (source / aof.MANIFEST).write_bytes(manifest)
    with pytest.raises(InvalidRecord, match="no append-only files"):
        aof.cut(source, tmp_path / "target", 200)
    assert not (tmp_path / "target").exists()


def test_a_copy_that_breaks_off_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if nothing is removed, as when the process is killed; the next one succeeds."""
    source, target = write(tmp_path / "source", DUMP, note(101) + ONE), tmp_path / "new" / "target"
    copy = aof._copy

    def full(path: Path, to: Path, size: int) -> None:
        copy(path, to, size)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(aof, "_copy", full)
        broken.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(InvalidRecord, match="No space left"):
            aof.cut(source, target, 101)
    assert not target.exists()
    aof.cut(source, target, 101)
    assert [path.name for path in target.parent.iterdir()] == ["target"]
