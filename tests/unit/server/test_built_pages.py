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
STATIC, PAGES = ROOT / "src" / "holdfast" / "server" / "static", ROOT / "pages"
#: What a browser fetches before the first paint, compressed.
MOST_BYTES = {("chat.js", "chat.css"): 35 << 10, ("embed.js",): 3 << 10}


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


@pytest.mark.parametrize("name", ["chat.js", "embed.js", "chat.css"])
def test_they_name_no_other_server_and_make_no_code(name: str) -> None:
    """Strict policies allow neither; addresses in them are namespaces of XML only."""
    text = (STATIC / name).read_text("utf-8")
    assert not re.findall(r"\beval\(|new Function\(|@import|url\(", text)
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= {"www.w3.org", "HOST"}


def test_the_lock_of_npm_names_no_address() -> None:
    """Every registry serves the same packages, whose digests are pinned."""
    text = (PAGES / "package-lock.json").read_text("utf-8")
    assert "resolved" not in text
    assert "integrity" in text
