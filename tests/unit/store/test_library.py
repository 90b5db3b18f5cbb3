"""store.library: headers, composition, markers, and that headers tell the truth."""

from __future__ import annotations

import re

import pytest

from holdfast.store.valkey import library
from holdfast.store.valkey.library import Header, Source, in_order, parse_header
from tests.unit.store.lua_calls import codes_reached

SOURCES = library.sources()
FUNCTIONS = [source for source in SOURCES.values() if not source.is_lib]
LIBS = [source for source in SOURCES.values() if source.is_lib]
by_name = pytest.mark.parametrize("source", FUNCTIONS, ids=lambda source: source.name)


def _source(name: str, *requires: str) -> Source:
    return Source(name=name, text="", header=Header(purpose="p", requires=requires))


def _available(*sources: Source) -> dict[str, Source]:
    return {source.name: source for source in sources}


def test_a_header_is_parsed() -> None:
    """Every kind of entry, several on a line, several lines of purpose."""
    header = parse_header(
        "--- Do it\n"
        "--- well.\n"
        "--- @key tag the partition\n"
        "--- @arg id @arg fence of the lease\n"
        "--- @ok done @ok known RESULT\n"
        "--- @no stale_lease | not_active\n"
        "--- @event started | ended\n"
        "--- @flags no-writes @owned execution\n"
        "--- @requires lib/a lib/b\n"
        "local x = '@arg none'\n"
        "--- @arg neither\n"
    )
    assert header == Header(
        purpose="Do it well.",
        requires=("lib/a", "lib/b"),
        args=("id", "fence"),
        oks=("done", "known RESULT"),
        refusals=("stale_lease", "not_active"),
        events=("started", "ended"),
        flags="no-writes",
        owned="execution",
    )


def test_a_file_without_a_header_has_an_empty_one() -> None:
    """What is absent is empty, so that the checks below can see it."""
    assert parse_header("local x = 1\n") == Header(purpose="")


def test_libs_come_after_what_they_require() -> None:
    """Each lib once, functions after their libs."""
    ordered = in_order(
        _available(
            _source("a/one", "lib/x", "lib/y"),
            _source("b/two", "lib/y"),
            _source("lib/x", "lib/z"),
            _source("lib/y", "lib/x"),
            _source("lib/z"),
        )
    )
    assert [s.name for s in ordered] == ["lib/z", "lib/x", "lib/y", "a/one", "b/two"]


def test_a_lib_that_nobody_requires_is_left_out() -> None:
    """The library holds what is used."""
    ordered = in_order(_available(_source("a/one"), _source("lib/unused")))
    assert [source.name for source in ordered] == ["a/one"]


def test_a_circle_is_refused_and_shown() -> None:
    """Lua has no forward declaration of a local table."""
    circle = _available(
        _source("a/one", "lib/x"), _source("lib/x", "lib/y"), _source("lib/y", "lib/x")
    )
    with pytest.raises(ValueError, match="a/one > lib/x > lib/y > lib/x"):
        in_order(circle)


def test_a_missing_lib_is_refused_by_name() -> None:
    """The message says who wants what."""
    with pytest.raises(ValueError, match="a/one requires lib/gone"):
        in_order(_available(_source("a/one", "lib/gone")))


def test_the_composition_is_deterministic() -> None:
    """The same files give the same text, so the digest can be pinned."""
    library.sources.cache_clear()
    library.load.cache_clear()
    first = library.load()
    library.sources.cache_clear()
    library.load.cache_clear()
    assert library.load() == first
    assert first.digest == library.digest_of(library.body())


def test_production_text_has_no_settable_clock() -> None:
    """No key can move the time of a production store."""
    production = library.load()
    assert ":clock" not in production.code
    assert "clock_fake" not in production.code
    assert production.code.count("local clock = {}") == 1


def test_the_test_build_differs_in_the_clock_alone() -> None:
    """What is tested is what runs."""
    production, fake = library.load().code, library.load(fake_clock=True).code
    clock, clock_fake = SOURCES["lib/core/clock"].text, SOURCES["lib/core/clock_fake"].text
    marker = library.load().marker, library.load(fake_clock=True).marker
    assert ":clock" in fake
    assert production.replace(clock, clock_fake).replace(*marker) == fake


def test_the_marker_tells_release_and_digest() -> None:
    """A server's functions say which library it has."""
    loaded = library.load()
    assert library.parse_marker(loaded.marker) == (loaded.release, loaded.digest)
    assert f"function_name = '{loaded.marker}'" in loaded.code


@pytest.mark.parametrize(
    "name",
    [
        "hf_execution_claim_many",
        "hf_revision_1",
        "hf_revision_x_ab",
        "hf_revision_1_XY",
        "xhf_revision_1_ab",
        "hf_revision_1_ab_c",
        "",
    ],
)
def test_other_functions_are_no_markers(name: str) -> None:
    """A marker is recognised by its whole name."""
    assert library.parse_marker(name) is None


def test_the_release_is_the_pinned_one() -> None:
    """LOCK holds a positive number and a word."""
    release, _ = library.read_lock()
    assert release >= 1
    assert library.load().release == release


@by_name
def test_every_function_has_a_full_header(source: Source) -> None:
    """Purpose, the key, the answer and the flags are never left out."""
    header = source.header
    assert header.purpose.endswith(".")
    assert header.oks
    assert header.flags in library.FLAGS
    assert source.text.count("--- @key tag the ") == 1


@by_name
def test_every_function_is_registered_once_with_its_flags(source: Source) -> None:
    """A read can be called by FCALL_RO, a write cannot."""
    code = library.load().code
    assert code.count(f"function_name = '{source.function}'") == 1
    registration = code.split(f"function_name = '{source.function}'", 1)[1].split("\n", 1)[0]
    for flag in ("no-writes", "allow-oom"):
        assert (f"'{flag}'" in registration) == (source.header.flags == flag)


@by_name
def test_every_function_defines_run(source: Source) -> None:
    """The composer registers `run`; the tenant goes to those that check each item themselves."""
    (parameters,) = re.findall(r"^local function run\(([^)]*)\)", source.text, re.MULTILINE)
    assert re.fullmatch(
        r"tag, \w+, tenant" if _owned(source) == "items" else r"tag, \w+", parameters
    )


#: Functions about one execution that no tenant's key reaches: the token is the right to call them.
BY_TOKEN = {"waitpoint/signal", "waitpoint/read"}
#: Called by processes that send replies: what they were handed out is the right to call it.
BY_SENDERS = "session/settle"


def _owned(source: Source) -> str:
    return source.header.owned


@by_name
def test_every_function_about_something_of_a_tenant_is_owned(source: Source) -> None:
    """What takes an id and can miss the thing is checked for the tenant of the caller."""
    missing = {
        "execution_not_found",
        "graph_not_found",
        "session_not_found",
        "waitpoint_not_found",
        "invalid_token",
    }
    by_other_right = {*BY_TOKEN, BY_SENDERS}
    can_miss = missing & set(source.header.refusals) and source.name not in by_other_right
    assert bool(_owned(source)) == bool(can_miss)
    if _owned(source) == "items":
        assert source.header.args[-1] == "items"
    elif _owned(source):
        assert _owned(source) in library.OWNED
        assert source.header.args[0] == "id"
        assert (_owned(source) == "graph") == source.name.startswith("graph/")


@by_name
def test_an_owned_function_is_registered_for_tenants_too(source: Source) -> None:
    """With the same flags, so that reads stay reads and a full store lets work end."""
    code = library.load().code
    registrations = [
        line.partition("flags = ")[2]
        for line in code.splitlines()
        if f"'{source.function}'" in line or f"'{source.owned_function}'" in line
    ]
    assert len(registrations) == (2 if _owned(source) else 1)
    assert len(set(registrations)) == 1
    assert (source.function in library.owned_functions()) == bool(_owned(source))
    assert library.plain_name(source.owned_function) == source.function
    assert library.plain_name(source.function) == source.function


@pytest.mark.parametrize("source", SOURCES.values(), ids=lambda source: source.name)
def test_every_lib_that_is_used_is_required_and_no_other(source: Source) -> None:
    """Names of libs in the text and @requires are the same set."""
    known = {lib.table for lib in LIBS}
    code = re.sub(r"--.*|'[^']*'", "", source.text)
    own = {source.table} if source.is_lib else set()
    locals_ = set(re.findall(r"local ([\w, ]+?)(?: =|\n)", code))
    shadowed = {name.strip() for group in locals_ for name in group.split(",")}
    used = {name for name in known if re.search(rf"(?<![.\w]){name}\.\w+", code)}
    required = {SOURCES[name].table for name in source.header.requires}
    assert used - own - (shadowed - required) == required


@by_name
def test_the_refusals_of_the_header_are_those_of_the_text(source: Source) -> None:
    """A code in @no can be given, and a code that can be given is in @no."""
    assert set(source.header.refusals) == codes_reached(source, SOURCES)


@by_name
def test_the_arguments_of_the_header_are_those_of_the_text(source: Source) -> None:
    """As many @arg as the function unpacks, where it unpacks them."""
    run = source.text.split("local function run(", 1)[1]
    unpacked = re.search(r"local ([\w, ]+) = unpack\(args\)", run)
    if unpacked:
        assert len(unpacked[1].split(",")) == len(source.header.args)
    elif re.search(r"\bargs\b", run.split(")", 1)[1]):
        assert source.header.args
    else:
        assert not source.header.args
