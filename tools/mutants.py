"""Change the Lua library in small ways, and see whether the tests notice.

    python tools/mutants.py --count 300 --seed 1

Each mutant is one change of one file: a comparison, a condition, an operator, a number, a write
that is dropped, a key that is taken for another. The tests near the file run first, then all tests
of the Lua functions and the property machines; a mutant that passes them all survived.
One line for each mutant; the survivors are printed at the end, with their differences.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LUA = Path("src/holdfast/lua")
#: A mutant that loops is as good as found.
LIMIT_S = 600

_TOKENS = re.compile(
    r"(?P<skip>--[^\n]*|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<key>(?<!function )\bkeys\.\w+(?=\())"
    r"|(?P<word>\b(?:and|or|not|true|false)\b)"
    r"|(?P<number>(?<![\w.])\d+(?![\w.]))"
    r"|(?P<sign>==|~=|<=|>=|<|>|(?<=\s)[+-](?=\s))"
)
_SWAPS = {
    "==": "~=",
    "~=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "+": "-",
    "-": "+",
    "and": "or",
    "or": "and",
    "not": "",
    "true": "false",
    "false": "true",
}
_READS = "GET|EXISTS|CARD|LEN|RANGE|SCORE|RANK|COUNT|TYPE|TTL|SCAN|MEMBER|KEYS|VALS|TIME|STRLEN"
_WRITE = re.compile(
    rf"^(?P<write>[ \t]*server\.call\('(?!\w*(?:{_READS}))\w+'.*\))[ \t]*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    source: str
    kind: str
    line: int
    text: str

    @property
    def path(self) -> Path:
        """The changed file, seen from the root."""
        return LUA / f"{self.source}.lua"

    def difference(self) -> str:
        """Return the lines that changed."""
        before = (ROOT / self.path).read_text().splitlines()
        lines = difflib.unified_diff(before, self.text.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in list(lines)[3:])


def mutants_of(source: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    start = _code_start(text)
    names = sorted(set(re.findall(r"\bkeys\.\w+(?=\()", text)))

    def made(kind: str, at: int, end: int, new: str) -> Mutant:
        return Mutant(source, kind, text.count("\n", 0, at) + 1, text[:at] + new + text[end:])

    for match in _WRITE.finditer(text, start):
        yield made("dropped write", match.start("write"), match.end("write"), "")
    for match in _TOKENS.finditer(text, start):
        at, end, token = match.start(), match.end(), match[0]
        if match["sign"] or match["word"]:
            yield made("operator", at, end, _SWAPS[token])
        elif match["number"]:
            yield made("number", at, end, str(int(token) + 1))
        elif match["key"] and len(names) > 1:
            yield made("swapped key", at, end, names[(names.index(token) + 1) % len(names)])


def harmless() -> Mutant:
    """Return a mutant that only adds a comment, so every test must pass with it."""
    source = "execution/create"
    text = (ROOT / LUA / f"{source}.lua").read_text()
    return Mutant(source, "comment", text.count("\n"), f"{text}-- Nothing changed.\n")


def _code_start(text: str) -> int:
    """Return where the header ends."""
    match = re.search(r"^(?!---)", text, re.MULTILINE)
    return match.start() if match else 0


def drawn(count: int, seed: int) -> list[Mutant]:
    """Draw mutants: the kinds in equal shares as far as they last, files by their size."""
    by_kind: dict[str, list[Mutant]] = {}
    for path in sorted((ROOT / LUA).rglob("*.lua")):
        source = path.relative_to(ROOT / LUA).with_suffix("").as_posix()
        for mutant in mutants_of(source, path.read_text()):
            by_kind.setdefault(mutant.kind, []).append(mutant)
    draw = random.Random(seed)  # noqa: S311 - a sample, not a secret
    chosen = []
    for kind in sorted(by_kind):
        draw.shuffle(by_kind[kind])
        chosen += by_kind[kind][: -(-count // len(by_kind))]
    draw.shuffle(chosen)
    return chosen[:count]


def near_tests(source: str, tests: Path) -> list[str]:
    """Return the tests that most likely notice a change of a file."""
    folder, _, name = source.removeprefix("lib/").partition("/")
    if not source.startswith("lib/"):
        return [str(p) for p in sorted((tests / "lua" / folder).glob(f"test_{name}*.py"))]
    users = {
        path.relative_to(ROOT / LUA).parts[0]
        for path in (ROOT / LUA).rglob("*.lua")
        if f"{source} " in path.read_text().replace("\n", " ") and "lib" not in path.parts
    }
    return [str(tests / "lua" / user) for user in sorted(users)]


def survives(mutant: Mutant, tree: Path) -> bool:
    """Return whether all tests pass with a mutant."""
    target = tree / mutant.path
    original = target.read_text()
    target.write_text(mutant.text)
    tests = tree / "tests"
    try:
        near = near_tests(mutant.source, tests)
        whole = [str(tests / "lua"), str(tests / "property")]
        return all(_pass(tree, chosen) for chosen in (near, whole) if chosen)
    finally:
        target.write_text(original)


def _pass(tree: Path, tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> None:
    """Draw, try, report."""
    parser = argparse.ArgumentParser(prog="tools/mutants.py", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="skip the ones before this one")
    parser.add_argument("--json", type=Path, help="write what was seen to a file")
    options = parser.parse_args()
    mutants = drawn(options.count, options.seed)[options.first :]
    seen: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="holdfast-mutants-") as folder:
        tree = Path(folder, "tree")
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "node_modules"))
        if not survives(harmless(), tree):
            sys.exit("the tests fail without a change: no mutant can be judged")
        for number, mutant in enumerate(mutants, start=options.first):
            started = time.monotonic()
            survived = survives(mutant, tree)
            verdict = "survived" if survived else "killed"
            took_s = time.monotonic() - started
            print(
                f"{number:>4} {verdict:<8} {mutant.kind:<13} "
                f"{mutant.source}:{mutant.line} {took_s:.0f} s",
                flush=True,
            )
            seen.append(
                {
                    "number": number,
                    "verdict": verdict,
                    "kind": mutant.kind,
                    "place": f"{mutant.source}:{mutant.line}",
                    "change": mutant.difference(),
                }
            )
            if options.json:
                options.json.write_text(json.dumps(seen, indent=2) + "\n")
    survivors = [one for one in seen if one["verdict"] == "survived"]
    for one in survivors:
        print(f"\n{one['number']} {one['kind']} {one['place']}\n{one['change']}")
    killed = len(seen) - len(survivors)
    print(f"\n{killed} of {len(seen)} killed ({killed / max(1, len(seen)):.1%})")


if __name__ == "__main__":
    main()
