"""Pages that people write: docs/, the README, the changelog. Their links are made to fit the site.

On GitHub these pages link to files beside docs/. On the site, some of those files are pages of
their own; links to all others become plain text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

#: Pages of the site that are elsewhere in the repository.
MOVED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
_FENCED = re.compile(r"^( *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_ITEM = re.compile(r"(?:[-*]|\d+\.) +")
#: Python-Markdown takes this many columns for what belongs to an item of a list.
_COLUMNS = 4


def pages(places: dict[str, str]) -> dict[str, str]:
    """Return the pages of the site by their path; `places` maps further files to their pages."""
    places = {**{f"docs/{path}": path for path in _paths()}, **MOVED, **places}
    sources = [*MOVED, *(f"docs/{path}" for path in _paths(".md"))]
    return {places[source]: _page(source, places) for source in sources}


def files() -> dict[str, bytes]:
    """Return the files that pages need: images of docs/, and a script."""
    images = {path: (DOCS / path).read_bytes() for path in _paths(".png", ".svg")}
    script = Path(__file__).with_name("iframe-worker.js")
    return {**images, f"assets/{script.name}": script.read_bytes()}


def _paths(*endings: str) -> list[str]:
    found = sorted(path for path in DOCS.rglob("*") if path.is_file())
    return [
        path.relative_to(DOCS).as_posix() for path in found if not endings or path.suffix in endings
    ]


def _page(source: str, places: dict[str, str]) -> str:
    parts = _FENCED.split((ROOT / source).read_text("utf-8"))
    parts[::2] = [
        _LINK.sub(lambda link: _link(link[1], link[2], source, places), part) for part in parts[::2]
    ]
    return widened("".join(parts))


def _link(text: str, target: str, source: str, places: dict[str, str]) -> str:
    """Return a link as the site needs it, or its text if the site has no such page."""
    path, _, anchor = target.partition("#")
    if "://" in target or target.startswith("mailto:") or not path:
        return f"[{text}]({target})"
    place = places.get(os.path.normpath(PurePosixPath(source).parent / path))
    if place is None:
        return text
    here = PurePosixPath(places[source]).parent
    return f"[{text}]({os.path.relpath(place, here)}{'#' if anchor else ''}{anchor})"


def widened(text: str) -> str:
    """Indent what belongs to an item of a list as far as Python-Markdown asks."""
    lines: list[str] = []
    missing = 0
    for line in text.splitlines():
        if item := _ITEM.match(line):
            missing = max(0, _COLUMNS - len(item[0]))
        elif line and not line.startswith(" "):
            missing = 0
        lines.append(" " * missing + line if line.startswith("  ") else line)
    return "\n".join(lines) + "\n"
