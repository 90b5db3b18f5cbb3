"""Check that the pages in the package are those that the sources in `pages/` give.

Without an option it compares digests, which needs no node. `--build` builds again and compares the
bytes; `--write` builds into the package and writes the digests. Both need node, after `npm ci`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "pages"
STATIC = ROOT / "src" / "holdfast" / "server" / "static"
LOCK = STATIC / "LOCK"
_SOURCES = frozenset({".ts", ".tsx", ".css", ".mjs", ".json"})
_STALE = "pages: {0} does not fit its sources: run `make pages`, and commit what it changes"


def digests() -> str:
    """Return a line for each source and each file that is built of them."""
    sources = [
        path
        for path in PAGES.rglob("*")
        if path.suffix in _SOURCES and "node_modules" not in path.parts
    ]
    built = [path for path in STATIC.iterdir() if path != LOCK]
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT).as_posix()}\n"
        for path in sorted(sources + built)
    )
    return "".join(lines)


def stale() -> list[str]:
    """Return the files whose digest is not the one in the lock."""
    locked, now = (set(text.splitlines()) for text in (LOCK.read_text(), digests()))
    return sorted({line.split("  ")[1] for line in locked ^ now})


def build(folder: Path) -> None:
    """Build the pages into a folder."""
    command = ["node", "build.mjs", str(folder)]
    subprocess.run(command, cwd=PAGES, check=True)


def differing() -> list[str]:
    """Build again, and return the files that differ from those in the package."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        return sorted(
            path.name
            for path in folder.iterdir()
            if path.read_bytes() != (STATIC / path.name).read_bytes()
        )


def main() -> int:
    """Check, or write."""
    if "--write" in sys.argv:
        build(STATIC)
        LOCK.write_text(digests())
        return 0
    found = stale() or (differing() if "--build" in sys.argv else [])
    for name in found:
        print(_STALE.format(name), file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
