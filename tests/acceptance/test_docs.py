"""Documents say what the source says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.store.store import open_store
from holdfast.store.valkey.call import REFUSALS
from holdfast.worker.sync_context import SyncContext
from tests.acceptance.processes import ROOT

DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]

#: Code, class and the mark of those that come from Lua.
_ERROR_ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (yes)? *\|", re.MULTILINE)
#: The name of a function and the key or channel that it makes.
_KEY_ROW = re.compile(r"^\| `(\w+)` \| `(TAG[^`]*)` \|", re.MULTILINE)
_KEY_FUNCTION = re.compile(r"^function keys\.(\w+)\([^)]*\)\s+return (.*?)\s+end$", re.MULTILINE)
_LIMIT_ROW = re.compile(r"^\| `([A-Z_]+)` \| (\d+) \|", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_VARIABLE = re.compile(r'"(HOLDFAST_[A-Z_]+)"')
#: The end of a string and the beginning of the next, on two lines.
_JOINED = re.compile(r'"\s*\n\s*f?"')
_QUOTED = re.compile(r"\*([^*]+)\*")
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def _all_errors(root: type[HoldfastError] = HoldfastError) -> Iterator[type[HoldfastError]]:
    yield root
    for child in root.__subclasses__():
        yield from _all_errors(child)


def test_errors_md_lists_every_code_with_its_class_and_no_other() -> None:
    """A program that gets a code finds it in the table."""
    listed = _ERROR_ROW.findall((DOCS / "errors.md").read_text())
    known = {(error.code, error.__name__) for error in _all_errors()}
    assert {(code, name) for code, name, _ in listed} == known
    assert len(listed) == len(known)


def test_errors_md_marks_the_codes_that_lua_refuses_with() -> None:
    """The mark tells which errors are answers of the store."""
    listed = _ERROR_ROW.findall((DOCS / "errors.md").read_text())
    assert {code for code, _, mark in listed if mark} == REFUSALS.keys()


def test_keys_md_shows_every_key_as_keys_lua_makes_it() -> None:
    """Each function of keys.lua has a row with the same key, and each row a function."""
    source = (ROOT / "src" / "holdfast" / "lua" / "lib" / "core" / "keys.lua").read_text()
    made = {}
    for name, expression in _KEY_FUNCTION.findall(source):
        parts = (part.strip() for part in expression.split(".."))
        made[name] = "".join(p.strip("'") if "'" in p else p.upper() for p in parts)
    assert len(made) == source.count("function keys.")
    page = (DOCS / "keys.md").read_text()
    assert {name: key.replace("\\|", "|") for name, key in _KEY_ROW.findall(page)} == made


def test_operations_md_lists_every_limit_with_its_value() -> None:
    """The table of limits is that of limits.py."""
    listed = dict(_LIMIT_ROW.findall((DOCS / "operations.md").read_text()))
    known = {name: str(value) for name, value in vars(bounds).items() if name.isupper()}
    assert listed == known


def test_operations_md_quotes_the_messages_of_boot_checks() -> None:
    """A reader who searches for a message finds its row."""
    modules = (ROOT / "src" / "holdfast" / "store").rglob("*.py")
    source = " ".join(_JOINED.sub("", module.read_text()) for module in modules)
    page = (DOCS / "operations.md").read_text()
    checks = page.partition("## Boot checks")[2].partition("\n## ")[0]
    quoted = [part.strip() for text in _QUOTED.findall(checks) for part in text.split("...")]
    assert [part for part in quoted if part not in source] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    """A link names a file that exists and, if it names one, a heading in it."""
    broken = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = _HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def test_every_decision_is_in_the_index() -> None:
    """A reader of the index finds all records."""
    index = (DOCS / "decisions" / "README.md").read_text()
    records = {path.name for path in (DOCS / "decisions").glob("0*.md")}
    assert records
    assert set(_LINK.findall(index)) == records


def test_cli_md_lists_every_variable_of_the_environment() -> None:
    """Those that the source reads, and those that the libraries heed."""
    sources = (ROOT / "src" / "holdfast").rglob("*.py")
    read = {name for path in sources for name in _VARIABLE.findall(path.read_text())}
    _, _, section = (DOCS / "cli.md").read_text().partition("\n## Environment\n")
    listed = re.findall(r"^\| `([A-Z_*]+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(read | {"SSL_CERT_FILE", "OTEL_*"})


def test_tasks_md_lists_every_member_of_the_context() -> None:
    """Waits, budgets and graphs, too."""
    _, _, section = (DOCS / "tasks.md").read_text().partition("\n## Context\n")
    table, _, _ = section.partition("\n## ")
    listed = set(re.findall(r"`ctx\.(\w+)", table))
    members = {name for name in vars(SyncContext) if not name.startswith("_")}
    assert members - listed == set()


def _names(folder: Path) -> list[str]:
    return [f"{one.name}/" if one.is_dir() else one.name for one in folder.iterdir()]


async def test_operations_md_lists_every_file_of_an_embedded_folder(tmp_path: Path) -> None:
    """Whoever finds one can look it up."""
    page = (DOCS / "operations.md").read_text()
    async with open_store(f"embedded://{tmp_path}"):
        names = _names(tmp_path)
    assert len(names) > 3
    assert [name for name in names if f"`{name}`" not in page] == []


def test_pages_tell_the_shortest_interval_of_a_schedule() -> None:
    """The one that is checked."""
    shortest = f"at least {bounds.EVERY_MIN_MS} ms"
    for name, row in {"cli.md": "| `--every DURATION` |", "schedules.md": "| `every` |"}.items():
        lines = (DOCS / name).read_text().splitlines()
        (line,) = [line for line in lines if line.startswith(row)]
        assert shortest in line, name


@pytest.mark.parametrize("page", sorted(DOCS.glob("migrate-from-*.md")), ids=lambda one: one.stem)
def test_a_guide_translates_what_its_readers_look_for(page: Path) -> None:
    """Every subject leads to its page, and what is missing is said."""
    text = page.read_text()
    linked = {link.partition("#")[0] for link in _LINK.findall(text)}
    assert {"graphs.md", "quotas.md", "schedules.md", "tasks.md", "testing.md"} <= linked
    for subject in ("retries", "--state", "## Not supported", "## How to move"):
        assert subject in text


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("beat_schedule", "schedules.md"),
        ("rate_limit", "quotas.md"),
        ("group(", "graphs.md"),
        ("chord(", "graphs.md"),
    ],
)
def test_the_celery_page_leads_to_what_there_is(word: str, page: str) -> None:
    """Periodic tasks, rate limits and canvas shapes have a row, which says where to read on."""
    lines = (DOCS / "migrate-from-celery.md").read_text().splitlines()
    (row,) = [line for line in lines if line.startswith(f"| `{word}")]
    assert f"({page})" in row


def test_performance_md_has_the_figures_of_the_last_run_of_all_peers() -> None:
    """The table shows the medians that `python -m bench.peers` wrote."""
    report = json.loads((ROOT / "bench" / "results" / "peers.json").read_text())
    page = (ROOT / "docs" / "performance.md").read_text()
    for name, figures in report["medians"].items():
        (row,) = re.findall(
            rf"^\| (?:\*\*)?{re.escape(name)}(?:\*\*| \S+) \|(.*)\|$", page, re.MULTILINE
        )
        shown = [cell.strip() for cell in row.split("|")]
        assert shown[:-1] == [f"{figure:,.0f}" for figure in figures.values()]
