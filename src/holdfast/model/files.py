"""Files that users send: names, kinds and limits.

The content decides the kind of a file, and its name must fit. No kind is one that a browser runs.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.errors import FileRefused
from holdfast.model import bounds, checks

_NAME_CHARS = 120
_NAMELESS = "file"
#: Characters that no folder and no header can have in a name.
_UNSAFE = frozenset('<>:"|?*;')
_ZIP = (b"PK\x03\x04",)
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a session, as a message names it."""

    id: str
    name: str
    #: Such as image/png.
    type: str
    size: int
    sha256: str

    def reference(self) -> dict[str, Any]:
        """Return what a message says about it."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """What a session takes."""

    #: Of one file; 0: none is taken.
    most_bytes: int = 10 << 20
    #: Of a session.
    most_files: int = 50
    total_bytes: int = 100 << 20
    #: Kinds, such as image/png or image/*; empty: every kind that is known.
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.integer("most_bytes", self.most_bytes, 0, bounds.FILE_BYTES)
        checks.integer("most_files", self.most_files, 1, bounds.PAGE_ITEMS)
        checks.integer("total_bytes", self.total_bytes, 1, bounds.AMOUNT)
        for wanted in self.types:
            if not any(_fits(kind.type, wanted) for kind in _KINDS):
                known = ", ".join(sorted({kind.type for kind in _KINDS}))
                checks.refuse("types", f"must be among {known}, or such as image/*", wanted)

    @property
    def extensions(self) -> list[str]:
        """The endings of the names of the files that are taken."""
        return [ending for kind in _KINDS if self.takes(kind.type) for ending in kind.endings]

    def takes(self, media_type: str) -> bool:
        """Whether files of a type are taken."""
        return not self.types or any(_fits(media_type, wanted) for wanted in self.types)


@dataclass(frozen=True, slots=True)
class _Kind:
    type: str
    endings: Sequence[str]
    #: The content starts with one of these; empty: it is text.
    starts: Sequence[bytes] = ()
    #: Its twelfth byte ends one of these.
    inner: Sequence[bytes] = ()

    def is_in(self, head: bytes) -> bool:
        if not self.starts and not self.inner:
            return _is_text(head)
        has_start = not self.starts or head.startswith(tuple(self.starts))
        has_inner = not self.inner or head[4:12].endswith(tuple(self.inner))
        return has_start and has_inner


_KINDS = (
    _Kind("image/png", (".png",), (b"\x89PNG\r\n\x1a\n",)),
    _Kind("image/jpeg", (".jpg", ".jpeg"), (b"\xff\xd8\xff",)),
    _Kind("image/gif", (".gif",), (b"GIF87a", b"GIF89a")),
    _Kind("image/webp", (".webp",), (b"RIFF",), (b"WEBP",)),
    _Kind("image/heic", (".heic",), (), (b"ftypheic", b"ftypheix", b"ftypmif1")),
    _Kind("application/pdf", (".pdf",), (b"%PDF-",)),
    _Kind("text/plain", (".txt", ".log")),
    _Kind("text/csv", (".csv",)),
    _Kind("text/markdown", (".md",)),
    _Kind("application/json", (".json",)),
    _Kind(f"{_OFFICE}wordprocessingml.document", (".docx",), _ZIP),
    _Kind(f"{_OFFICE}spreadsheetml.sheet", (".xlsx",), _ZIP),
    _Kind(f"{_OFFICE}presentationml.presentation", (".pptx",), _ZIP),
    _Kind(f"{_OPEN}text", (".odt",), _ZIP),
    _Kind(f"{_OPEN}spreadsheet", (".ods",), _ZIP),
)


#: No file is taken.
NO_FILES = FileLimits(most_bytes=0)


def type_of(name: str, head: bytes, limits: FileLimits) -> str:
    """Return the type of a file by its name and its first bytes; raises FileRefused."""
    ending = "." + name.rpartition(".")[2].lower()
    for kind in _KINDS:
        if ending in kind.endings and limits.takes(kind.type):
            if kind.is_in(head):
                return kind.type
            message = f"file: the content of {name!r} is not {kind.type}"
            raise FileRefused(message, field="file", accepted=limits.extensions)
    message = f"file: {name!r} is of a kind that is not taken"
    raise FileRefused(message, field="file", accepted=limits.extensions)


def safe_name(given: str) -> str:
    """Return a name without folders and without characters that mislead or do harm.

    Names that look alike to people get one form.
    """
    last = given.replace("\\", "/").rpartition("/")[2]
    kept = [
        "_" if character in _UNSAFE else character
        for character in unicodedata.normalize("NFC", last)
        # Controls, marks that turn the direction of text around, and unassigned ones.
        if unicodedata.category(character)[0] != "C"
    ]
    name = "".join(kept).strip(" .")
    stem, dot, ending = name.rpartition(".")
    if len(name) > _NAME_CHARS:
        name = f"{stem[: _NAME_CHARS - len(ending) - 1]}{dot}{ending}"[-_NAME_CHARS:]
    return name or _NAMELESS


def _fits(media_type: str, wanted: str) -> bool:
    return media_type == wanted or (wanted.endswith("/*") and media_type.startswith(wanted[:-1]))


def _is_text(head: bytes) -> bool:
    try:
        # The last character may be cut.
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return not any(unicodedata.category(one) == "Cc" and one not in "\t\n\r\f" for one in text)
