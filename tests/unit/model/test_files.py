"""Names and kinds of files that users send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import FileRefused, InvalidInput
from holdfast.model.files import NO_FILES, FileLimits, safe_name, type_of
from holdfast.model.ids import new_id, time_of

PNG = b"\x89PNG\r\n\x1a\n\0\0"


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ann\\bill.pdf", "bill.pdf"),
        ("a\r\nSet-Cookie: x.txt", "aSet-Cookie_ x.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("..", "file"),
        ("  .hidden ", "hidden"),
        ('"><script>.png', "___script_.png"),
        ("e\u0301.txt", "é.txt"),
    ],
)
def test_a_name_keeps_nothing_that_misleads(given_name: str, name: str) -> None:
    """No folder, no control character, no mark that turns text around."""
    assert safe_name(given_name) == name


@given(st.text(max_size=400))
def test_every_name_becomes_a_plain_one(text: str) -> None:
    """It is never empty, never long, and safe in a header."""
    name = safe_name(text)
    assert 0 < len(name) <= 120
    assert not set(name) & set('/\\"\r\n\0;')
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.PNG", PNG, "image/png"),
        ("a.jpeg", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a.webp", b"RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
        ("a.heic", b"\0\0\0\x18ftypheic", "image/heic"),
        ("a.pdf", b"%PDF-1.7", "application/pdf"),
        ("a.txt", "grüße".encode()[:4], "text/plain"),
        ("a.csv", b"", "text/csv"),
    ],
)
def test_the_content_says_what_a_file_is(name: str, head: bytes, kind: str) -> None:
    """A text may end in the middle of a character, where a part of it ends."""
    assert type_of(name, head, FileLimits()) == kind


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.html", b"<html>"),
        ("a.svg", b"<svg/>"),
        ("a.exe", b"MZ\0"),
        ("a", b"text"),
        ("a.png", b"<html>"),
        ("a.txt", b"a\0b"),
        ("a.txt", b"\xff\xfea"),
        ("a.webp", b"RIFF\1\2\3\4WAVE"),
    ],
)
def test_other_kinds_are_refused(name: str, head: bytes) -> None:
    """Also a content that is not what the name says."""
    with pytest.raises(FileRefused) as refusal:
        type_of(name, head, FileLimits())
    assert ".png" in refusal.value.context["accepted"]


def test_limits_name_kinds_that_exist() -> None:
    """A type that nothing has would refuse every file."""
    images = FileLimits(types=("image/*",))
    assert images.takes("image/png")
    assert not images.takes("application/pdf")
    assert ".jpg" in images.extensions
    with pytest.raises(FileRefused):
        type_of("a.pdf", b"%PDF-1.7", images)
    with pytest.raises(InvalidInput):
        FileLimits(types=("text/html",))
    assert NO_FILES.most_bytes == 0


def test_an_id_has_its_time() -> None:
    """To the millisecond."""
    assert time_of("0" * 10 + "z" * 10) == 0
    assert time_of(new_id()) <= time_of(new_id())
