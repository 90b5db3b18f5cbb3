"""The documentation site: a strict build of everything but most of the Python API."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from holdfast.cli.main import app
from holdfast.errors import HoldfastError
from tests.acceptance.processes import ROOT

pytestmark = pytest.mark.timeout(300)

DOCS = ROOT / "docs"
_FOREIGN = re.compile(
    r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?(?:https?:)?//', re.IGNORECASE
)
_LOADED = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")
#: The whole API takes 7 s more; `make docs` builds it.
_MODULES = 2


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a build; a warning would have ended it."""
    pytest.importorskip("mkdocs", reason="`make docs` or `make test` installs it")
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "tools/build_docs.py", "--folder", str(folder)]
    done = subprocess.run(
        [*command, "--modules", str(_MODULES)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def _site(built: Path) -> Path:
    (site,) = (path.parent for path in (built / "site").glob("*/index.html"))
    return site


def test_pages_load_nothing_from_other_hosts(built: Path) -> None:
    """Not a font, a script, a style or an image: the site works without a network."""
    site = _site(built)
    pages = [*site.glob("*.html"), *site.glob("reference/**/*.html")]
    assert len(pages) > 60
    assert [page.name for page in pages if _FOREIGN.search(page.read_text())] == []
    styles = site.rglob("*.css")
    assert [style.name for style in styles if _LOADED.search(style.read_text())] == []


def test_search_works_from_files(built: Path) -> None:
    """The index is a script, and it has the text of pages that were written and generated."""
    text = (_site(built) / "search" / "search_index.js").read_text()
    index = json.loads(text.removeprefix("var __index = "))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    generated = {"reference/errors.html", "reference/commands/submit.html"}
    assert {"index.html", "tasks.html", "examples/hello.html", *generated} <= places
    assert (_site(built) / "assets" / "iframe-worker.js").exists()


def test_versions_stand_side_by_side(built: Path) -> None:
    """The list of versions leads to the one that was built, and so does the first page."""
    site = _site(built)
    listed = json.loads((site.parent / "versions.json").read_text())
    assert [entry["version"] for entry in listed] == [site.name]
    assert f"url={site.name}/index.html" in (site.parent / "index.html").read_text()


def test_the_api_has_signatures_and_docstrings(built: Path) -> None:
    """As an example, the class that every program begins with."""
    page = (_site(built) / "reference" / "python" / "holdfast.html").read_text()
    assert 'id="holdfast.App"' in page
    assert 'id="holdfast.Context.step"' in page
    assert "A store and the tasks that run on it." in page


def test_every_command_has_a_page_with_its_options(built: Path) -> None:
    """Generated, so nothing can be missing; here is the proof."""
    program: Any = get_command(app)
    for name, command in program.commands.items():
        page = (built / "pages" / "reference" / "commands" / f"{name}.md").read_text()
        for path, verb in _verbs(f"holdfast {name}", command):
            assert path in page
            names = (one.opts[0] for one in verb.params if not getattr(one, "hidden", False))
            assert [one for one in names if one.startswith("--") and one not in page] == []


def _verbs(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, child in command.commands.items():
        yield from _verbs(f"{path} {name}", child)


def test_every_error_has_a_part(built: Path) -> None:
    """With its code as the anchor, and what to do about it."""
    page = (built / "pages" / "reference" / "errors.md").read_text()
    codes = [HoldfastError.code, *(one.code for one in _below(HoldfastError))]
    assert [code for code in codes if f"\n## {code}\n" not in page] == []


def _below(error: type[HoldfastError]) -> Iterator[type[HoldfastError]]:
    for child in error.__subclasses__():
        yield child
        yield from _below(child)


def test_the_navigation_names_every_page() -> None:
    """A page that nobody lists, nobody finds: add it to docs/nav.yml."""
    listed = set(_paths(yaml.safe_load((DOCS / "nav.yml").read_text())))
    folders = {path.rstrip("/") for path in listed if path.endswith("/")}
    pages = (path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    missing = [
        str(page) for page in pages if str(page) not in listed and str(page.parent) not in folders
    ]
    assert missing == []


def _paths(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
        return
    for one in nav.values() if isinstance(nav, dict) else nav:
        yield from _paths(one)
