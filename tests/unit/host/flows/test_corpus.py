"""Broken flows, one defect each, with the message that lint gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.host.flows.known import Known, Operation
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.model import NodeKind
from holdfast.host.flows.problems import CODES
from tests.unit.host.flows.samples import FILES, KNOWN

CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(CORPUS.glob("*.yaml"))


def _header(text: str) -> dict[str, str]:
    lines = (line for line in text.splitlines() if line.startswith("# "))
    pairs = (line[2:].partition(":") for line in lines)
    return {key: value.strip() for key, _, value in pairs}


def _known(text: str) -> Known | None:
    given = json.loads(text)
    if given is None:
        return None
    made: dict[str, Any] = {name: frozenset(names) for name, names in given.items()}
    if "components" in given:
        made["components"] = {
            name: {one: Operation(**schemas) for one, schemas in operations.items()}
            for name, operations in given["components"].items()
        }
    if "providers" in given:
        made["providers"] = {name: frozenset(ones) for name, ones in given["providers"].items()}
    if "kinds" in given:
        made["kinds"] = frozenset(NodeKind(kind) for kind in given["kinds"])
    return Known(**made)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_lint_reports_the_one_defect(path: Path) -> None:
    """Lint reports the defect, and nothing else, with its place and what to do."""
    text = path.read_text()
    header = _header(text)
    files = {path.name: text}
    if "also" in header:
        files["also.yaml"] = header["also"]
    _, problems = lint_files(files, _known(header["known"]))
    assert [f"{one.code} {one.line}:{one.column}" for one in problems] == [header["expect"]]
    assert problems[0].message == header["message"]
    assert problems[0].suggestion == header["suggestion"]


def test_the_corpus_is_large() -> None:
    """There are at least 80 broken flows."""
    assert len(CASES) >= 80


def test_the_corpus_has_every_code() -> None:
    """Every code that lint reports is the defect of a broken flow."""
    codes = {_header(path.read_text())["expect"].split()[0] for path in CASES}
    assert codes == set(CODES)


def test_valid_flows_have_no_problems() -> None:
    """Lint reports nothing in flows that are valid."""
    flows, problems = lint_files(FILES, KNOWN)
    assert problems == []
    assert set(flows) == {"support", "goodbye", "batch"}
