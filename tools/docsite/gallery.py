"""The programs of examples/, each on a page; docs/examples.md is the list of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
_COMMAND = re.compile(r" Run it(?: twice)?: `[^`]*`\.$")
_LANGUAGES = {".py": "python", ".mjs": "javascript", ".yaml": "yaml", ".md": "markdown"}


def places() -> dict[str, str]:
    """Return the page of the site for each example, by its path in the repository."""
    packs = {f"examples/packs/{pack.name}": f"examples/pack-{pack.name}.md" for pack in _packs()}
    made = {f"examples/{path.name}": f"examples/{path.stem}.md" for path in _programs()}
    return {"examples": "examples.md", **packs, **made}


def pages() -> dict[str, str]:
    """Return the pages by their path."""
    made = {f"examples/{path.stem}.md": _program(path) for path in _programs()}
    return made | {f"examples/pack-{pack.name}.md": _pack(pack) for pack in _packs()}


def about(path: Path) -> str:
    """Return what a program says about itself, without the command that runs it."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        docstring = ast.get_docstring(ast.parse(text)) or ""
        return _COMMAND.sub("", docstring.partition("\n\n")[0].replace("\n", " "))
    comments = (line.removeprefix("//").strip() for line in text.splitlines() if line[:2] == "//")
    return next(comments, "")


def _programs() -> list[Path]:
    return sorted(path for path in EXAMPLES.iterdir() if path.suffix in (".py", ".mjs"))


def _packs() -> list[Path]:
    return sorted(path for path in (EXAMPLES / "packs").iterdir() if path.is_dir())


def _program(path: Path) -> str:
    return f"# {path.name}\n\n{about(path)}\n\n{_block(path, path.name)}"


def _pack(folder: Path) -> str:
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in _LANGUAGES)
    blocks = (_block(path, path.relative_to(folder).as_posix()) for path in files)
    return f"# Pack {folder.name}\n\n" + "\n".join(blocks)


def _block(path: Path, title: str) -> str:
    text = path.read_text("utf-8").rstrip()
    return f'````{_LANGUAGES[path.suffix]} title="{title}"\n{text}\n````\n'
