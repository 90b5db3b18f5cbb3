"""The archive: the same bytes for the same files, and a reader that trusts nothing."""

from __future__ import annotations

import hashlib
import io
import zipfile

import pytest

from holdfast.errors import InvalidPack
from holdfast.host.packs import archive, limits
from tests.support.packs import Zip

FILES = {"pack.yaml": b"id: a\n", "flows/main.yaml": b"", "assets/straße.txt": b"x" * 100_000}
BIG = b"\x00" * 1_000_000


def _problem(data: bytes) -> str:
    with pytest.raises(InvalidPack) as caught:
        archive.read(data)
    return str(caught.value.context["problem"])


def test_the_same_files_are_the_same_bytes() -> None:
    """In whatever order they come."""
    data = archive.write(FILES)
    assert data == archive.write(dict(reversed(FILES.items())))
    assert archive.read(data) == FILES
    assert list(archive.read(data)) == sorted(FILES)


def test_other_programs_can_read_it() -> None:
    """It is a plain zip with fixed times and modes."""
    with zipfile.ZipFile(io.BytesIO(archive.write(FILES))) as opened:
        assert opened.testzip() is None
        assert {name: opened.read(name) for name in opened.namelist()} == FILES
        entry = opened.infolist()[0]
        assert entry.date_time == (1980, 1, 1, 0, 0, 0)
        assert entry.external_attr >> 16 == 0o100644


def test_the_bytes_are_pinned() -> None:
    """A change of the format changes every archive, so it must be on purpose."""
    data = archive.write({"a": b"1", "b/c": b"2"})
    assert hashlib.sha256(data).hexdigest() == (
        "d2891371540a268a8d83a9b7d114db7b2775f3a75a9e86b42fed348e391856c5"
    )


def test_compressed_files_are_read() -> None:
    """Other tools may have compressed them, as long as the archive is plain."""
    text = b"id: a\n" * 1_000
    assert archive.read(Zip().add("pack.yaml", text, deflate=True).done()) == {"pack.yaml": text}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not_an_archive"),
        (b"hello world, this is no archive", "not_an_archive"),
        (archive.write(FILES)[:-30], "damaged_archive"),
        (archive.write(FILES) + b"tail", "unsupported_archive"),
        (Zip().add("a").done(comment=3), "damaged_archive"),
        (Zip().add("../a").done(), "unsafe_path"),
        (Zip().add("a/../../b").done(), "unsafe_path"),
        (Zip().add("a\\..\\b").done(), "unsafe_path"),
        (Zip().add("/etc/passwd").done(), "absolute_path"),
        (Zip().add("C:/a").done(), "absolute_path"),
        (Zip().add("\\\\host\\a").done(), "absolute_path"),
        (Zip().add("a\x00b").done(), "unsafe_path"),
        (Zip().add("").done(), "unsafe_path"),
        (Zip().add("a//b").done(), "unsafe_path"),
        (Zip().add("./a").done(), "unsafe_path"),
        (Zip().add("nul.txt").done(), "unsafe_path"),
        (Zip().add("a./b").done(), "unsafe_path"),
        (Zip().add("a /b").done(), "unsafe_path"),
        (Zip().add("e\u0301").done(), "unsafe_path"),
        (Zip().add(b"\xff").done(), "unsafe_path"),
        (Zip().add("x" * 300).done(), "unsafe_path"),
        (Zip().add("a/" * 9 + "b").done(), "unsafe_path"),
        (Zip().add("a", b"/etc/passwd", mode=0o120777).done(), "symlink"),
        (Zip().add("a/").done(), "not_a_file"),
        (Zip().add("a", mode=0o010644).done(), "not_a_file"),
        (Zip().add("a").add("a").done(), "duplicate_file"),
        (Zip().add("a").add("a/b").done(), "duplicate_file"),
        (Zip().add("a").add("A").done(), "case_collision"),
        (Zip().add("x/a").add("X/b").done(), "case_collision"),
        (Zip().add("straße").add("STRASSE").done(), "case_collision"),
        (Zip().add("a", BIG, deflate=True).done(), "bomb"),
        (Zip().add("a", BIG, deflate=True, size=10).done(), "bomb"),
        (Zip().add("a", b"x", size=limits.FILE_BYTES + 1, method=8).done(), "bomb"),
        (Zip().add("a", b"x" * 500_000, size=limits.FILE_BYTES + 1).done(), "too_large"),
        (Zip().add("a", b"x", flags=1).done(), "unsupported_archive"),
        (Zip().add("a", b"x", flags=8).done(), "unsupported_archive"),
        (Zip().add("a", b"x", method=12).done(), "unsupported_archive"),
        (Zip().add("a", b"x", local_name=b"b").done(), "header_mismatch"),
        (Zip().add("a", b"x", local_size=2).done(), "header_mismatch"),
        (Zip().add("a", b"x", extra=b"\x01\x00\x00\x00").done(), "header_mismatch"),
        (Zip().add("a", b"x").done(gap=b"hidden"), "header_mismatch"),
        (Zip().add("a", b"x").add("b", b"x", offset=0).done(), "header_mismatch"),
        (Zip().add("a", b"x", offset=7).done(), "header_mismatch"),
        (Zip().add("a", b"x", crc=1).done(), "damaged_archive"),
        (Zip().add("a", b"xx", size=1).done(), "damaged_archive"),
        (Zip().add("a", b"not deflated", method=8).done(), "damaged_archive"),
        (Zip().add("a", b"\x03\x00junk", method=8, size=0, crc=0).done(), "damaged_archive"),
    ],
)
def test_what_is_unsafe_has_its_own_problem(data: bytes, problem: str) -> None:
    """Each kind of trick is refused by name."""
    assert _problem(data) == problem


def test_too_many_files_are_refused() -> None:
    """Before any of them is read."""
    pile = Zip()
    for number in range(limits.FILES + 3):
        pile.add(f"assets/{number}")
    assert _problem(pile.done()) == "too_many_files"


def test_files_are_refused_for_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them may be within its limit."""
    monkeypatch.setattr(limits, "TOTAL_BYTES", 1_000)
    assert _problem(Zip().add("a", b"x" * 600).add("b", b"x" * 600).done()) == "too_large"


def test_a_large_archive_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the size of its file."""
    monkeypatch.setattr(limits, "ARCHIVE_BYTES", 1_000)
    assert _problem(archive.write(FILES)) == "too_large"


def test_every_cut_and_every_flipped_byte_is_an_error_or_the_same_files() -> None:
    """Nothing else is raised, and no wrong content is returned."""
    data = Zip().add("pack.yaml", b"id: a\n" * 9, deflate=True).add("flows/a.yaml", b"x").done()
    files = archive.read(data)
    for place in range(len(data)):
        for changed in (
            data[:place],
            data[place:],
            data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :],
            data[:place] + bytes([data[place] ^ 0x01]) + data[place + 1 :],
        ):
            try:
                found = archive.read(changed)
            except InvalidPack:
                continue
            assert sorted(found.values()) == sorted(files.values())
