"""The audit of locked dependencies."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "audit", Path(__file__).parents[2] / "tools/audit.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
audit: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(audit)


def test_findings_are_lines_and_no_answer_is_none() -> None:
    """What is fixed says where."""
    known = [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}, {"id": "PYSEC-2"}]
    packages = [{"name": "a", "version": "1.0", "vulns": known}, {"name": "b", "version": "1"}]
    assert audit.findings(json.dumps({"dependencies": packages})) == [
        "a 1.0: PYSEC-1, fixed in 1.1, 2.0",
        "a 1.0: PYSEC-2",
    ]
    for output in ("", "[]", "{}"):
        assert audit.findings(output) is None


@pytest.mark.parametrize(
    ("found", "arguments", "code"),
    [
        ([], [], 0),
        (["a 1.0: PYSEC-1"], [], 1),
        (["a 1.0: PYSEC-1"], ["--if-reachable"], 1),
        (None, [], 2),
        (None, ["--if-reachable"], 0),
    ],
)
def test_a_finding_fails_and_no_answer_only_if_it_must_not_be(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    found: list[str] | None,
    arguments: list[str],
    code: int,
) -> None:
    """In one line each."""
    monkeypatch.setattr(audit, "is_reachable", lambda: True)
    monkeypatch.setattr(audit, "compare", lambda: found)
    monkeypatch.setattr("sys.argv", ["audit", *arguments])
    assert audit.main() == code
    assert len(capsys.readouterr().out.splitlines()) == 1
