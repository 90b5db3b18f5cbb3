"""Documents say what the source says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.store.valkey.call import REFUSALS
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
