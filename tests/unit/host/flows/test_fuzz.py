"""Broken flows of all sorts: reading and lint report problems, and never fail."""

from __future__ import annotations

import random

import pytest

from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.render import as_json, as_lines, as_sarif
from tests.unit.host.flows.samples import FILES, KNOWN

_PIECES = [
    "{{", "}}", "{", "}", "[", "]", "'", '"', ":", "- ", "\n", "\t", "|", "&a ", "*a", "!!x ",
    "end", "null", "out: a", "1e999", "0", "-1", "()", ".", "\u2028", "\ud7ff", "\x00",
    "prev.x", "nodes.", "when: ", "emit: ", "set: ", "x" * 300, "((((", "<<: ", "true",
    "99999999999999999999",
]  # fmt: skip


def _mutated(chance: random.Random, text: str) -> str:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        size = chance.choice([0, 0, 1, 3, 20])
        kind = chance.random()
        if kind < 0.4:
            piece = chance.choice(_PIECES)
        elif kind < 0.7:
            start = chance.randrange(len(text) + 1)
            piece = text[start : start + chance.choice([1, 5, 30])]
        else:
            piece = ""
        text = text[:at] + piece + text[at + size :]
    return text


@pytest.mark.parametrize("seed", range(10))
def test_mutated_flows_never_crash_lint(seed: int) -> None:
    """A thousand mutated flows are read, checked and reported without a crash."""
    chance = random.Random(seed)
    for _ in range(100):
        name = chance.choice(list(FILES))
        files = {**FILES, name: _mutated(chance, FILES[name])}
        _, problems = lint_files(files, KNOWN)
        for problem in problems:
            assert problem.line >= 1
            assert problem.column >= 1
        as_lines(problems, files)
        as_json(problems)
        as_sarif(problems, "1")


def test_bytes_that_are_not_text_are_a_problem() -> None:
    """A file that is not UTF-8 is reported."""
    _, problems = lint_files({"f.yaml": b"\xff\xfe\x00"})
    assert [problem.code for problem in problems] == ["invalid_yaml"]


def test_strange_patterns_raise_no_warnings() -> None:
    """A pattern that Python warns about is a pattern like others."""
    schema = '{type: string, pattern: "[[a-z]"}'
    text = f"id: f\ntype: messaging\nnodes: {{a: {{ask: {{text: hi, answer: {schema}}}}}}}"
    _, problems = lint_files({"f.yaml": text})
    assert [problem.code for problem in problems] in ([], ["bad_schema"])
