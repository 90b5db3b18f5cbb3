"""The pages in the package: built of the sources that are here, small, and of one server only."""

from __future__ import annotations

import gzip
import re
import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOL = runpy.run_path(str(ROOT / "tools" / "check_pages.py"))
TYPES = runpy.run_path(str(ROOT / "tools" / "page_types.py"))
STATIC, PAGES = ROOT / "src" / "holdfast" / "server" / "static", ROOT / "pages"
#: What a browser fetches before the first paint, compressed.
MOST_BYTES = {
    ("chat.js", "chat.css"): 35 << 10,
    ("embed.js",): 3 << 10,
    ("console.js", "console.css"): 100 << 10,
}
#: Of the console, without what is generated.
MOST_LINES, MOST_LINES_IN_A_FILE = 9_000, 400


def test_they_fit_their_sources() -> None:
    """Otherwise run `make pages`."""
    assert TOOL["stale"]() == []


@pytest.mark.skipif(
    shutil.which("node") is None or not (PAGES / "node_modules").exists(),
    reason="building pages needs node, and `npm ci` in pages/",
)
def test_building_them_again_gives_the_same_bytes() -> None:
    """On any machine."""
    assert TOOL["differing"]() == []


@pytest.mark.parametrize(("names", "most"), MOST_BYTES.items())
def test_they_are_small(names: tuple[str, ...], most: int) -> None:
    """A phone loads them quickly."""
    sizes = [len(gzip.compress((STATIC / name).read_bytes(), mtime=0)) for name in names]
    assert sum(sizes) <= most


@pytest.mark.parametrize("name", ["chat.js", "embed.js", "chat.css", "console.js", "console.css"])
def test_they_name_no_other_server_and_make_no_code(name: str) -> None:
    """Strict policies allow neither; addresses in them are namespaces of XML only."""
    text = (STATIC / name).read_text("utf-8")
    assert not re.findall(r"\beval\(|new Function\(|@import|url\(", text)
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= {"www.w3.org", "HOST"}


def test_the_console_stays_readable() -> None:
    """Small files, and not too many."""
    files = [
        path
        for path in (PAGES / "console").rglob("*.*")
        if path.suffix in {".ts", ".tsx", ".css"} and path.parent.name != "api"
    ]
    lines = {path.name: len(path.read_text("utf-8").splitlines()) for path in files}
    assert sum(lines.values()) <= MOST_LINES
    assert [name for name, count in lines.items() if count > MOST_LINES_IN_A_FILE] == []


def test_the_types_of_calls_are_those_of_the_routes() -> None:
    """Otherwise run `make pages`."""
    written = TYPES["files"]()
    assert {path: path.read_text("utf-8") for path in written} == written


def test_the_lock_of_npm_names_no_address() -> None:
    """Every registry serves the same packages, whose digests are pinned."""
    text = (PAGES / "package-lock.json").read_text("utf-8")
    assert "resolved" not in text
    assert "integrity" in text
