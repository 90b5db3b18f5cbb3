"""Names of files in a pack: which ones are allowed, whatever tool wrote the archive."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from holdfast.host.packs import limits
from holdfast.host.packs.problems import Problem, refuse

PACK_FILE = "pack.yaml"
MANIFEST = "manifest.json"
SIGNATURES = "signatures.json"
#: Folders of a pack.
FOLDERS = ("assets", "components", "flows", "schemas", "tests")
#: Files that may be beside `pack.yaml`.
BESIDE = frozenset({PACK_FILE, "README.md", "LICENSE", "CHANGELOG.md"})

_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|\ud800-\udfff]')
_DRIVE = re.compile(r"[A-Za-z]:")
#: Names that Windows keeps for devices, with any ending.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def check(name: str) -> str:
    """Return a name that is safe to use on any system; raises InvalidPack."""
    shown = repr(name[:80])
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        refuse(Problem.ABSOLUTE_PATH, f"the name {shown} is absolute", file=name[:200])
    why = _unsafe(name)
    if why:
        refuse(Problem.UNSAFE_PATH, f"the name {shown} {why}", file=name[:200])
    return name


def _unsafe(name: str) -> str:
    """Return what is wrong with a name, or nothing."""
    parts = name.split("/")
    rules = (
        (".." in name.replace("\\", "/").split("/"), "leaves the pack"),
        (len(name) > limits.PATH_CHARS, f"has more than {limits.PATH_CHARS} characters"),
        (len(parts) > limits.PATH_PARTS, f"has more than {limits.PATH_PARTS} parts"),
        (_FORBIDDEN.search(name), "has a character that not every system can store"),
        (unicodedata.normalize("NFC", name) != name, "is not in Unicode's normal form C"),
        (any(part in {"", "."} for part in parts), "has an empty part"),
        (any(part != part.strip(" ") for part in parts), "has a space around a part"),
        (any(part.endswith(".") for part in parts), "has a part that ends with a dot"),
        (any(map(_DEVICES.fullmatch, parts)), "has a part that Windows keeps for a device"),
    )
    return next((words for holds, words in rules if holds), "")


def check_distinct(names: Iterable[str]) -> None:
    """Refuse names of which two are the same file on some system."""
    exact: set[str] = set()
    folded: dict[str, str] = {}
    for name in names:
        if name in exact:
            refuse(Problem.DUPLICATE_FILE, f"the archive has two files `{name}`", file=name)
        exact.add(name)
        parts = name.split("/")
        for count in range(1, len(parts) + 1):
            prefix = "/".join(parts[:count])
            # Folders may be written in one case only, and no file is also a folder.
            kept = folded.setdefault(prefix.casefold(), prefix)
            if kept != prefix:
                message = f"the names `{kept}` and `{prefix}` differ only in case"
                refuse(Problem.CASE_COLLISION, message, file=name)
    for name in exact:
        folder = name.rpartition("/")[0]
        while folder:
            if folder in exact:
                message = f"`{folder}` is a file and also the folder of `{name}`"
                refuse(Problem.DUPLICATE_FILE, message, file=name)
            folder = folder.rpartition("/")[0]


def check_place(name: str) -> None:
    """Refuse a file that is where packs have none."""
    folder, slash, rest = name.partition("/")
    if not slash:
        if name in BESIDE:
            return
        hint = "; the file of a pack is named `pack.yaml`" if name == "pack.yml" else ""
        message = f"`{name}` is not a part of a pack{hint or '; move it to `assets/`'}"
        refuse(Problem.UNEXPECTED_FILE, message, file=name)
    if folder not in FOLDERS:
        message = f"`{folder}/` is not a folder of packs; these are {', '.join(FOLDERS)}"
        refuse(Problem.UNEXPECTED_FILE, message, file=name)
    if folder == "flows" and ("/" in rest or not rest.endswith(".yaml")):
        message = f"`{name}`: a flow is a file `flows/NAME.yaml`, without folders in between"
        refuse(Problem.UNEXPECTED_FILE, message, file=name)


def check_sizes(sizes: Iterable[tuple[str, int]]) -> None:
    """Refuse files that are too many or too large, one by one or together."""
    total = count = 0
    for name, size in sizes:
        if name in {MANIFEST, SIGNATURES}:
            _check_own(name, size)
            continue
        total += size
        count += 1
        if count > limits.FILES:
            message = f"the pack has more than {limits.FILES} files"
            refuse(Problem.TOO_MANY_FILES, message, limit=limits.FILES)
        if size > limits.FILE_BYTES:
            message = f"`{name}` has {size} bytes, and a file may have {limits.FILE_BYTES}"
            refuse(Problem.TOO_LARGE, message, file=name, limit=limits.FILE_BYTES)
        if total > limits.TOTAL_BYTES:
            message = f"the files have more than {limits.TOTAL_BYTES} bytes together"
            refuse(Problem.TOO_LARGE, message, limit=limits.TOTAL_BYTES)


def _check_own(name: str, size: int) -> None:
    """Refuse a manifest or a list of signatures that no build would write."""
    if size > limits.MANIFEST_BYTES:
        message = f"`{name}` has {size} bytes, and may have {limits.MANIFEST_BYTES}"
        refuse(Problem.TOO_LARGE, message, file=name, limit=limits.MANIFEST_BYTES)
