"""The Lua function library: composed from lua/, pinned in lua/LOCK, described by its headers.

A lib file, `lib/GROUP/FILE`, is one local table, named by its first line of code; a function file,
`FOLDER/FILE`, defines `run(tag, args)` and is registered as `hf_FOLDER_FILE`. Files are ordered by
their `@requires`, each lib once.

A function with `@owned` is registered a second time, as `hf_owned_FOLDER_FILE`. Its last argument
is then the tenant that the call is for: what belongs to another one is refused as if missing.
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
#: Values of `@owned`: what the first argument is the id of, or `items` for functions that get the
#: tenant as the third parameter of `run` and check each item, of which the id comes first.
OWNED = ("execution", "graph", "session", "items")

_OWNERSHIP = "lib/core/ownership"
_OWNED_PREFIX = "hf_owned_"

_ENTRY = re.compile(r"@(\w+)[ \t]*([^@\n]*)")
_TABLE = re.compile(r"^local (\w+) = ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The contract at the head of a Lua file."""

    purpose: str
    requires: tuple[str, ...] = ()
    #: Libs that fill in functions which this one calls, so they come along with it.
    completed_by: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    oks: tuple[str, ...] = ()
    #: Refusal codes.
    refusals: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    flags: str = ""
    #: One of OWNED, or empty: not about something that belongs to a tenant.
    owned: str = ""


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

    @property
    def owned_function(self) -> str:
        """The name by which it is called on behalf of a tenant."""
        return _OWNED_PREFIX + self.name.replace("/", "_")

    @property
    def requires(self) -> tuple[str, ...]:
        """The libs that it needs, with that of the check before it."""
        needed = self.header.requires
        return (*needed, _OWNERSHIP) if self.header.owned else needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The composed library."""

    release: int
    digest: str
    code: str

    @property
    def marker(self) -> str:
        """The name of a function that identifies the library that a server has loaded."""
        # Processes of every release read this name, so its form must stay.
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
        completed_by=tuple(words.get("with", ())),
        args=tuple(value.split()[0] for value in entries.get("arg", ())),
        oks=tuple(entries.get("ok", ())),
        refusals=tuple(w for w in words.get("no", ()) if w != "|"),
        events=tuple(w for w in words.get("event", ()) if w != "|"),
        flags=" ".join(words.get("flags", ())),
        owned=" ".join(words.get("owned", ())),
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
        for required in available[name].requires:
            visit(required, (*path, name))
        done.add(name)
        ordered.append(available[name])
        for completing in available[name].header.completed_by:
            visit(completing, ())

    for source in available.values():
        if not source.is_lib:
            visit(source.name, ())
    return ordered


def _section(source: Source) -> str:
    if source.is_lib:
        # In a separate function, so that its helpers do not count towards Lua's 200 locals.
        return (
            f"local {source.table} = (function() -- source: {source.name}.lua\n"
            f"{source.text}return {source.table}\nend)()\n"
        )
    registrations = _registration(source, source.function, _PLAIN)
    if source.header.owned:
        registrations += _registration(source, source.owned_function, _checked(source))
    return f"do -- source: {source.name}.lua\n{source.text}{registrations}end\n"


#: What a call does, with its keys `k` and its arguments `a`.
_PLAIN = "return run(k[1], a)"


def _checked(source: Source) -> str:
    """Return what a call on behalf of a tenant does: its last argument is the tenant."""
    owned = source.header.owned
    if owned == "items":
        return "local tenant = table.remove(a) return run(k[1], a, tenant)"
    return (
        "local tenant = table.remove(a) "
        f"return ownership.{owned}(k[1], a[1], tenant) or run(k[1], a)"
    )


def _registration(source: Source, function: str, body: str) -> str:
    flags = ", ".join(f"'{flag}'" for flag in FLAGS[source.header.flags])
    return (
        f"server.register_function {{ function_name = '{function}', "
        f"callback = function(k, a) {body} end, flags = {{ {flags} }} }}\n"
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
    """Return a function as a standalone script, with the libs that it needs and the same flags."""
    available = _available(fake_clock=fake_clock)
    kept = {
        name: source
        for name, source in available.items()
        if source.is_lib or function in {source.function, source.owned_function}
    }
    *libs, source = in_order(kept)
    body = _PLAIN if function == source.function else _checked(source)
    flags = ",".join(FLAGS[source.header.flags])
    first = f"#!lua flags={flags}\n" if flags else "#!lua\n"
    sections = "".join(map(_section, libs))
    return f"{first}{sections}{source.text}local k, a = KEYS, ARGV\n{body}\n"


@cache
def adds_data(function: str) -> bool:
    """Whether a full server refuses a function."""
    plain = plain_name(function)
    return any(
        source.function == plain and source.header.flags == "write" for source in sources().values()
    )


@dataclass(frozen=True, slots=True)
class OwnedFunction:
    """A function about something that belongs to a tenant."""

    #: The name by which it is called on behalf of a tenant.
    name: str
    #: Which of its arguments is the id; of items, that of the first.
    place: int


@cache
def owned_functions() -> dict[str, OwnedFunction]:
    """Return the functions with `@owned` by their plain names."""
    return {
        source.function: OwnedFunction(
            source.owned_function, 1 if source.header.owned == "items" else 0
        )
        for source in sources().values()
        if source.header.owned
    }


def plain_name(function: str) -> str:
    """Return the name of a function without the mark of calls on behalf of a tenant."""
    if function.startswith(_OWNED_PREFIX):
        return "hf_" + function.removeprefix(_OWNED_PREFIX)
    return function


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
