"""Refuse files and functions that have grown too large to read at once."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: The most lines of a file, by pattern; the first match decides.
FILE_LIMITS = (
    ("src/**/*.lua", 200),
    ("src/**/*.py", 500),
    ("tests/**/*.py", 600),
    ("bench/**/*.py", 500),
    ("tools/**/*.py", 500),
    ("examples/**/*.py", 500),
)
LUA_FUNCTION_FILE = 120
PYTHON_FUNCTION = 50

#: Files that may be larger, with the reason.
ALLOWED: dict[str, str] = {
    "src/holdfast/lua/lib/core/keys.lua": "a flat list, every key of the store in one place",
    "src/holdfast/errors.py": "a flat list of classes, the whole hierarchy in one place",
}


def oversized_files() -> list[str]:
    """Return a line for each file over its limit."""
    problems = []
    for pattern, limit in FILE_LIMITS:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            is_function = path.suffix == ".lua" and "lib" not in path.parts
            most = LUA_FUNCTION_FILE if is_function else limit
            lines = len(path.read_text().splitlines())
            if lines > most and name not in ALLOWED:
                problems.append(f"{name}: {lines} lines, at most {most}")
    return problems


def oversized_functions() -> list[str]:
    """Return a line for each Python function of the package over its limit."""
    problems = []
    for path in sorted(ROOT.glob("src/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                name = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                if lines > PYTHON_FUNCTION:
                    problems.append(f"{name}: {lines} lines, at most {PYTHON_FUNCTION}")
    return problems


def main() -> int:
    """Print the files and functions that are too large."""
    problems = oversized_files() + oversized_functions()
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
