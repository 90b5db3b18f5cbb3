"""The page of errors, from the classes; what to do about each comes from docs/errors.md."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.errors import HoldfastError

_TABLE = Path(__file__).parents[2] / "docs" / "errors.md"
_ROW = re.compile(r"^\| `(\w+)` \| `\w+` \| (?:yes)? *\| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_ABOUT = """# Error classes

Every class of `holdfast.errors`, in the order of the tree. Compare `error.code`, which is stable.
[Errors](../errors.md) has all of them in one table.
"""


def pages() -> dict[str, str]:
    """Return the page by its path."""
    rows = {row[0]: row[1:] for row in _ROW.findall(_TABLE.read_text("utf-8"))}
    parts = [_part(error, rows.get(error.code, ("", "", ""))) for error in _tree(HoldfastError)]
    return {"reference/errors.md": _ABOUT + "".join(parts)}


def _tree(root: type[HoldfastError]) -> Iterator[type[HoldfastError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


def _part(error: type[HoldfastError], row: tuple[str, ...]) -> str:
    means, action, again = (re.sub(r"\]\((\w)", r"](../\1", text) for text in row)
    bases = " · ".join(f"`{one.__name__}`" for one in error.__bases__)
    lines = [f"\n## {error.code}\n", f"`{error.__name__}`, a {bases}: {inspect.getdoc(error)}\n"]
    lines += [f"Means: {means}.\n"] if means else []
    lines += [f"What to do: {action}.\n"] if action else []
    lines += [f"Send the same call again: {again}.\n"] if again else []
    return "\n".join(lines)
