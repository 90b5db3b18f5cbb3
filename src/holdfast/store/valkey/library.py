"""The Lua function library: composed from lua/, pinned in lua/LOCK, described by its headers.

A lib file, `lib/GROUP/FILE`, is one local table, named by its first line of code; a function file,
`FOLDER/FILE`, defines `run(tag, args)` and is registered as `hf_FOLDER_FILE`. Files are ordered by
their `@requires`, each lib once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

NAME = "holdfast"
FLAGS = {"write": (), "allow-oom": ("allow-oom",), "no-writes": ("no-writes",)}

_ENTRY = re.compile(r"@(\w+)[ \t]*([^@\n]*)")
_TABLE = re.compile(r"^local (\w+) = ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The contract at the head of a Lua file."""

    purpose: str
    requires: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    oks: tuple[str, ...] = ()
    #: Refusal codes.
    refusals: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    flags: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One Lua file."""

    #: Folder and file without its ending, such as execution/claim or lib/core/keys.
    name: str
    text: str
    header: Header

    @property
    def is_lib(self) -> bool:
        """Whether it is shared code, not a function."""
        return self.name.startswith("lib/")

    @property
    def table(self) -> str:
        """The local table that a lib is."""
        match = _TABLE.search(self.text)
        if match is None:
            message = f"lua: {self.name} declares no table"
            raise ValueError(message)
        return match[1]

    @property
    def function(self) -> str:
        """The name by which it is called."""
        return "hf_" + self.name.replace("/", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The composed library."""

    release: int
    digest: str
    code: str

    @property
    def marker(self) -> str:
        """The name of a function that tells which library a server has loaded."""
        # Processes of every release read it, so its form stays.
        return f"hf_revision_{self.release}_{self.digest}"


def parse_header(text: str) -> Header:
    """Parse the leading `---` lines of a Lua file."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("---"):
            break
        lines.append(line[3:].strip())
    purpose = " ".join(line for line in lines if not line.startswith("@"))
    entries: dict[str, list[str]] = {}
    for name, value in _ENTRY.findall("\n".join(lines)):
        entries.setdefault(name, []).append(value.strip())
    words = {name: " ".join(values).split() for name, values in entries.items()}
    return Header(
        purpose=purpose,
        requires=tuple(words.get("requires", ())),
        args=tuple(value.split()[0] for value in entries.get("arg", ())),
        oks=tuple(entries.get("ok", ())),
        refusals=tuple(w for w in words.get("no", ()) if w != "|"),
        events=tuple(w for w in words.get("event", ()) if w != "|"),
        flags=" ".join(words.get("flags", ())),
    )


@cache
def sources() -> dict[str, Source]:
    """Return every Lua file of the package by name."""
    return dict(sorted(_sources(files("holdfast") / "lua", "")))


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, Source]]:
    for entry in folder.iterdir():
        name = f"{path}{entry.name.removesuffix('.lua')}"
        if entry.is_dir():
            yield from _sources(entry, f"{name}/")
        elif entry.name.endswith(".lua"):
            text = entry.read_text("utf-8")
            yield name, Source(name=name, text=text, header=parse_header(text))


def in_order(available: dict[str, Source]) -> list[Source]:
    """Order the libs so that each follows what it requires, functions last."""
    ordered: list[Source] = []
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            message = f"lua: circular @requires: {' > '.join((*path, name))}"
            raise ValueError(message)
        if name in done:
            return
        if name not in available:
            message = f"lua: {path[-1]} requires {name}, which does not exist"
            raise ValueError(message)
        for required in available[name].header.requires:
            visit(required, (*path, name))
        done.add(name)
        ordered.append(available[name])

    # A lib may fill in what another one, which it requires, calls: all of them are needed.
    for source in sorted(available.values(), key=lambda source: not source.is_lib):
        visit(source.name, ())
    return ordered


def _section(source: Source) -> str:
    if source.is_lib:
        # In a function of its own, so that its helpers do not count towards Lua's 200 locals.
        return (
            f"local {source.table} = (function() -- source: {source.name}.lua\n"
            f"{source.text}return {source.table}\nend)()\n"
        )
    flags = ", ".join(f"'{flag}'" for flag in FLAGS[source.header.flags])
    return (
        f"do -- source: {source.name}.lua\n{source.text}"
        f"server.register_function {{ function_name = '{source.function}', "
        f"callback = function(k, a) return run(k[1], a) end, flags = {{ {flags} }} }}\n"
        "end\n"
    )


def _available(*, fake_clock: bool) -> dict[str, Source]:
    available = dict(sources())
    fake = available.pop("lib/core/clock_fake")
    if fake_clock:
        available["lib/core/clock"] = Source(
            name="lib/core/clock", text=fake.text, header=fake.header
        )
    return available


def _compose(*, fake_clock: bool) -> str:
    return "".join(_section(source) for source in in_order(_available(fake_clock=fake_clock)))


@cache
def script(function: str, *, fake_clock: bool = False) -> str:
    """Return a function as a script of its own, with the libs and the same flags."""
    available = _available(fake_clock=fake_clock)
    kept = {
        name: source
        for name, source in available.items()
        if source.is_lib or source.function == function
    }
    *libs, source = in_order(kept)
    flags = ",".join(FLAGS[source.header.flags])
    first = f"#!lua flags={flags}\n" if flags else "#!lua\n"
    sections = "".join(map(_section, libs))
    return f"{first}{sections}{source.text}return run(KEYS[1], ARGV)\n"


@cache
def adds_data(function: str) -> bool:
    """Whether a full server refuses a function."""
    return any(
        source.function == function and source.header.flags == "write"
        for source in sources().values()
    )


def digest_of(body: str) -> str:
    """Return the digest by which a library is pinned."""
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def read_lock() -> tuple[int, str]:
    """Return the pinned release and digest of the production library."""
    lock = (files("holdfast") / "lua" / "LOCK").read_text("utf-8").split()
    return int(lock[0]), lock[1]


def body() -> str:
    """Return the composed production text without its first line and marker."""
    return _compose(fake_clock=False)


@cache
def load(*, fake_clock: bool = False) -> Library:
    """Compose the library. With `fake_clock`, tests can set the time."""
    text = _compose(fake_clock=fake_clock)
    release, _ = read_lock()
    library = Library(release=release, digest=digest_of(text), code="")
    marker = (
        f"server.register_function {{ function_name = '{library.marker}', "
        f"callback = function() return {release} end, flags = {{ 'no-writes' }} }}\n"
    )
    code = f"#!lua name={NAME}\n{text}{marker}"
    return Library(release=release, digest=library.digest, code=code)


def parse_marker(function: str) -> tuple[int, str] | None:
    """Return release and digest if this is the name of a marker function."""
    match = re.fullmatch(r"hf_revision_(\d+)_([0-9a-f]+)", function)
    return (int(match[1]), match[2]) if match else None
