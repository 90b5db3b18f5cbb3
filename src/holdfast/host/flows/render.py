"""Problems for people and programs: text, JSON, and SARIF for CI systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from holdfast.host.flows.problems import CODES, Problem, Severity

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SHOWN_CODE = 160


def as_lines(problems: Sequence[Problem], sources: Mapping[str, str] | None = None) -> str:
    """Return the problems as text, with the line of the file below each if it is given."""
    blocks = []
    for problem in problems:
        blocks.append(str(problem))
        lines = (sources or {}).get(problem.file, "").splitlines()
        if 0 < problem.line <= len(lines):
            line = lines[problem.line - 1]
            if len(line) <= _SHOWN_CODE:
                blocks.append(f"    {line}\n    {' ' * (problem.column - 1)}^")
    blocks.append(summary(problems))
    return "\n".join(blocks) + "\n"


def summary(problems: Iterable[Problem]) -> str:
    """Return how many problems there are."""
    counts = Counter(problem.severity for problem in problems)
    if not counts:
        return "no problems"
    return ", ".join(
        f"{counts[severity]} {severity}{'s' * (counts[severity] != 1)}"
        for severity in Severity
        if counts[severity]
    )


def as_object(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON has it."""
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "suggestion": problem.suggestion,
    }


def as_json(problems: Iterable[Problem]) -> str:
    """Return the problems as JSON: `{"problems": [...]}`."""
    return _encoded({"problems": [as_object(problem) for problem in problems]})


def as_sarif(problems: Sequence[Problem], version: str, meanings: Mapping[str, str] = CODES) -> str:
    """Return the problems as SARIF, which CI systems show beside the code."""
    used = sorted({problem.code for problem in problems})
    rules = [{"id": code, "shortDescription": {"text": meanings[code]}} for code in used]
    results = [
        {
            "ruleId": problem.code,
            "ruleIndex": used.index(problem.code),
            "level": problem.severity.value,
            "message": {"text": _sentence(problem)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": problem.file},
                        "region": {"startLine": problem.line, "startColumn": problem.column},
                    }
                }
            ],
        }
        for problem in problems
    ]
    driver = {"name": "holdfast", "version": version, "rules": rules}
    runs = [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}]
    return _encoded({"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": runs})


def _sentence(problem: Problem) -> str:
    hint = f" ({problem.suggestion})" if problem.suggestion else ""
    return f"{problem.message}{hint}"


def _encoded(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
