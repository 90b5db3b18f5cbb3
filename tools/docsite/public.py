"""The public modules: everything that docs/compatibility.md promises to keep.

A module is public if a page of docs/ or an example imports from it, if it is part of the contract
(`holdfast.api`), or if it has values which the contract names.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "holdfast"
_IMPORT = re.compile(r"^\s*from (holdfast[\w.]*) import ", re.MULTILINE)
#: What a page shows of the inside.
_INSIDE = re.compile(r"^holdfast\.(store|cli|server)\b")


def modules() -> list[str]:
    """Return the names of the public modules, sorted."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "integrations").glob("*.md")]
    programs = [ROOT / "README.md", *pages, *(ROOT / "examples").rglob("*.py")]
    imported = {name for path in programs for name in _IMPORT.findall(path.read_text("utf-8"))}
    contract = {f"holdfast.api.{path.stem}" for path in (SOURCE / "api").glob("[a-z]*.py")}
    values = {
        name
        for path in (SOURCE / "api").glob("*.py")
        for name in _IMPORT.findall(path.read_text("utf-8"))
        if name.startswith("holdfast.model.")
    }
    return sorted(
        name
        for name in imported | contract | values
        if _path(name).exists() and not _INSIDE.match(name)
    )


def names(module: str) -> list[str]:
    """Return the public names of a module: those of `__all__`, or those that it defines."""
    tree = ast.parse(_path(module).read_text("utf-8"))
    defined: list[str] = []
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name("__all__")], value=value):
                return sorted(ast.literal_eval(value))
            case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                defined.append(name)
            case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                defined.append(name)
    return sorted(name for name in defined if not name.startswith("_"))


def sentence(module: str) -> str:
    """Return the first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(_path(module).read_text("utf-8"))) or ""
    return text.partition("\n")[0]


def _path(module: str) -> Path:
    place = SOURCE.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
