"""The map of the source is right: internals.md, CONTRIBUTING's tree, the form of decisions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.acceptance.processes import ROOT

SOURCE = ROOT / "src" / "holdfast"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))

#: A file in backticks; one with capital letters is a pattern, such as lua/FOLDER/FILE.lua.
_PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|\.lua|/LOCK))`")
_TREE_ROOT = re.compile(r"^    (\S+/)$")
_TREE_LINE = re.compile(r"^        (\S+) +\S")
_HEADING = re.compile(r"^#+ .+$", re.MULTILINE)


def _tree() -> dict[str, set[str]]:
    """Return the entries of the tree in CONTRIBUTING.md by the folder that they are in."""
    tree: dict[str, set[str]] = {}
    entries: set[str] = set()
    for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines():
        if root := _TREE_ROOT.match(line):
            entries = tree.setdefault(root[1], set())
        elif entry := _TREE_LINE.match(line):
            entries.add(entry[1])
    return tree


def test_every_path_on_the_internals_page_exists() -> None:
    """A reader can open each file that the page names."""
    paths = set(_PATH.findall((ROOT / "docs" / "internals.md").read_text()))
    assert paths
    assert sorted(path for path in paths if not (SOURCE / path).exists()) == []


def test_contributing_lists_every_package() -> None:
    """The tree has a line for each package and each module beside them, and no other."""
    packages = {f"{path.parent.relative_to(SOURCE)}/" for path in SOURCE.rglob("__init__.py")}
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py"}
    functions = {"lua/", "lua/lib/"}
    assert _tree()["src/holdfast/"] == (packages - {"./"}) | modules | functions


def test_contributing_lists_every_folder_of_tests() -> None:
    """The tree has a line for each folder of tests, and no other."""
    folders = {f"{path.parent.name}/" for path in (ROOT / "tests").glob("*/__init__.py")}
    assert _tree()["tests/"] == folders


def test_contributing_shows_the_import_layers() -> None:
    """The line of layers is that of the contract that `make check` enforces."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = (
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    layers = [layer.replace("holdfast.", "").replace(" : ", ", ") for layer in contract["layers"]]
    assert f"\n    {' > '.join(layers)}\n" in (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem[:4])
def test_decisions_have_one_form(page: Path) -> None:
    """A record is named after its title and has a context, a decision and consequences."""
    title, *parts = _HEADING.findall(page.read_text())
    assert parts == ["## Context", "## Decision", "## Consequences"]
    assert re.fullmatch(r"# \d{4} .+", title)
    words = title.removeprefix("# ").lower().replace("'", "")
    assert page.stem == re.sub(r"[^a-z0-9]+", "-", words)


def test_the_index_shows_the_titles_of_decisions() -> None:
    """A reader finds a record by the words of its title."""
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()
    for page in DECISIONS:
        title = page.read_text().splitlines()[0].removeprefix("# ")
        assert f"| [{title}]({page.name}) | " in index
