"""Refuse files and functions that have grown too large to read at once."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: Lines at which a file must be split, by pattern; the first match counts.
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

#: Path to reason, for what may be larger.
ALLOWED: dict[str, str] = {
    "src/holdfast/errors.py": "a flat list of classes, the whole hierarchy in one place",
}


def oversized_files() -> list[str]:
    """Return a line for each file over its limit."""
    found = []
    for pattern, limit in FILE_LIMITS:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            is_function = path.suffix == ".lua" and "lib" not in path.parts
            most = LUA_FUNCTION_FILE if is_function else limit
            lines = len(path.read_text().splitlines())
            if lines > most and name not in ALLOWED:
                found.append(f"{name}: {lines} lines, at most {most}")
    return found


def oversized_functions() -> list[str]:
    """Return a line for each Python function of the package over its limit."""
    found = []
    for path in sorted(ROOT.glob("src/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                name = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                if lines > PYTHON_FUNCTION:
                    found.append(f"{name}: {lines} lines, at most {PYTHON_FUNCTION}")
    return found


def main() -> int:
    """Print what is too large."""
    found = oversized_files() + oversized_functions()
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
