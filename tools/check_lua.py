"""Lint the Lua library and check that LOCK pins it; --write updates LOCK.

Rules: no globals but the server's own, no unused locals, every used lib is required and
vice versa, no foreign clock or randomness, short lines and functions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from luaparser import ast, astnodes

from holdfast.store.valkey import library
from holdfast.store.valkey.library import FLAGS, Source

LUA = Path(__file__).parent.parent / "src" / "holdfast" / "lua"

BUILTINS = frozenset(
    {
        "server",
        "cjson",
        "cmsgpack",
        "bit",
        "string",
        "table",
        "math",
        "tonumber",
        "tostring",
        "ipairs",
        "pairs",
        "setmetatable",
        "getmetatable",
        "unpack",
        "select",
        "type",
        "error",
        "pcall",
    }
)
FORBIDDEN = (
    (re.compile(r"\bredis\."), "use `server`, not `redis`"),
    (re.compile(r"\bmath\.random\b"), "math.random has the same seed in every call"),
    (re.compile(r"'TIME'"), "time comes from lib/core/clock only"),
    (re.compile(r"\bKEYS\b|\bARGV\b"), "functions get tag and args"),
    (re.compile(r"\t"), "tab"),
)
LINE_CHARS = 115
FUNCTION_LINES = 40


class Scopes:
    """Follows names through nested scopes and collects problems."""

    def __init__(self) -> None:
        self.globals: set[str] = set()
        self.problems: list[str] = []
        self._stack: list[dict[str, bool]] = [{}]

    def declare(self, name: str) -> None:
        """Declare a local."""
        self._stack[-1][name] = name == "_"

    def use(self, name: str) -> None:
        """Use a name: the nearest local, or a global."""
        for scope in reversed(self._stack):
            if name in scope:
                scope[name] = True
                return
        self.globals.add(name)

    def leave(self) -> None:
        """Leave a scope; unused locals are problems."""
        for name, used in self._stack.pop().items():
            if not used:
                self.problems.append(f"local {name} is never used")

    def visit(self, node: Any) -> None:
        """Walk a node with the scoping rules of Lua."""
        if isinstance(node, list):
            for item in node:
                self.visit(item)
        elif isinstance(node, astnodes.Name):
            self.use(node.id)
        elif isinstance(node, astnodes.Node):
            self._visit_node(node)

    def _visit_node(self, node: Any) -> None:
        handle = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handle is not None:
            handle(node)
            return
        for child in vars(node).values():
            if isinstance(child, list | astnodes.Node) and child is not node.comments:
                self.visit(child)

    def _localassign(self, node: Any) -> None:
        self.visit(node.values)
        for target in node.targets:
            self.declare(target.id)

    def _block(self, node: Any) -> None:
        self._stack.append({})
        self.visit(node.body)
        self.leave()

    def _index(self, node: Any) -> None:
        self.visit(node.value)
        if node.notation is not astnodes.IndexNotation.DOT:
            self.visit(node.idx)

    def _invoke(self, node: Any) -> None:
        self.visit([node.source, *node.args])

    def _field(self, node: Any) -> None:
        self.visit(node.value)
        if node.between_brackets:
            self.visit(node.key)

    def _localfunction(self, node: Any) -> None:
        self.declare(node.name.id)
        self._body(node)

    def _function(self, node: Any) -> None:
        self.visit(node.name)
        self._body(node)

    def _anonymousfunction(self, node: Any) -> None:
        self._body(node)

    def _fornum(self, node: Any) -> None:
        self.visit([node.start, node.stop, node.step])
        self._loop(node, [node.target])

    def _forin(self, node: Any) -> None:
        self.visit(node.iter)
        self._loop(node, node.targets)

    def _loop(self, node: Any, names: list[Any]) -> None:
        self._stack.append({})
        for name in names:
            self.declare(name.id)
        self.visit(node.body.body)
        self.leave()

    def _body(self, node: Any) -> None:
        lines = node.last_token.line - node.first_token.line + 1
        if lines > FUNCTION_LINES:
            self.problems.append(f"a function of {lines} lines, at most {FUNCTION_LINES}")
        self._stack.append({})
        for arg in node.args:
            if isinstance(arg, astnodes.Name):
                self.declare(arg.id)
        self.visit(node.body.body)
        self.leave()


def lint(source: Source) -> Iterator[str]:
    """Yield the problems of a file."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if line != line.rstrip():
            yield f"line {number}: trailing white space"
        if len(line) > LINE_CHARS:
            yield f"line {number}: longer than {LINE_CHARS} characters"
        code = line.split("--", 1)[0] if "--" in line else line
        for pattern, problem in FORBIDDEN:
            if pattern.search(code) and "lib/core/clock" not in source.name:
                yield f"line {number}: {problem}"
    tree = ast.parse(source.text)
    scopes = Scopes()
    exported = source.table if source.is_lib else "run"
    scopes.visit(tree.body.body)
    scopes.use(exported)
    scopes.leave()
    yield from scopes.problems
    used = scopes.globals - BUILTINS - {exported}
    tables = {library.sources()[name].table: name for name in source.header.requires}
    for name in sorted(used - tables.keys()):
        yield f"{name} is neither local nor required"
    for table in sorted(tables.keys() - used):
        yield f"{tables[table]} is required but not used"
    yield from lint_header(source)


def lint_header(source: Source) -> Iterator[str]:
    """Yield the missing parts of a header."""
    header = source.header
    if not header.purpose:
        yield "no purpose"
    if not source.is_lib and (header.flags not in FLAGS or not header.oks):
        yield f"@ok and @flags ({', '.join(FLAGS)}) are needed"


def pin() -> None:
    """Write LOCK, with a new release if the library changed."""
    digest = library.digest_of(library.body())
    release, pinned = library.read_lock()
    if digest != pinned:
        release = release if pinned == "unpinned" else release + 1
        (LUA / "LOCK").write_text(f"{release} {digest}\n")
        print(f"LOCK: release {release}, digest {digest}")


def main() -> int:
    """Print problems; return 1 if there are any."""
    if "--write" in sys.argv:
        pin()
        return 0
    problems = [f"{s.name}.lua: {p}" for s in library.sources().values() for p in lint(s)]
    if library.digest_of(library.body()) != library.read_lock()[1]:
        problems.append("LOCK does not pin the current library: run `make lock`")
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
