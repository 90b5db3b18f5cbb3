"""The order of the pages: docs/nav.yml, in which a folder stands for its pages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any


def filled(nav: Any, paths: Iterable[str]) -> Any:
    """Return a navigation with the pages of its folders; the index of a folder comes first."""
    if isinstance(nav, list):
        return [filled(one, paths) for one in nav]
    if isinstance(nav, dict):
        return {title: filled(one, paths) for title, one in nav.items()}
    if not nav.endswith("/"):
        return nav
    found = [path for path in paths if PurePosixPath(path).parent == PurePosixPath(nav)]
    return sorted(found, key=_rank)


def _rank(path: str) -> tuple[bool, list[str]]:
    """Return the place of a page; that of a module comes before those of its parts."""
    page = PurePosixPath(path)
    return page.name not in ("README.md", "index.md"), page.stem.split(".")
