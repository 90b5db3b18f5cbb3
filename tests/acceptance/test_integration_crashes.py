"""Processes die by kill -9 between any two calls of an agent; no call is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT, python

pytestmark = pytest.mark.xdist_group("integrations")

CALLS = {
    "pydantic_ai": ["model 0", "tool 0", "model 1", "tool 1", "model 2"],
    "openai_agents": ["guardrail", "desk 0", "clerk 1", "tool 1", "clerk 2"],
    "langgraph": ["a", "b", "c"],
}
RESULTS = {"pydantic_ai": "[1, 2]", "openai_agents": "[2]", "langgraph": "['a', 'b', 'c']"}


@pytest.mark.parametrize("name", CALLS)
def test_no_call_is_repeated(name: str, single_server: TestServer, tmp_path: Path) -> None:
    """Each call happens in a process of its own, once, and the result is the same."""
    url = f"valkey://127.0.0.1:{single_server.port}?prefix=mortal-{name}"
    notes = tmp_path / "notes"
    program = ("-m", "tests.acceptance.apps.mortal", f"mortal_{name}", url, str(notes))
    shown = python(*program, folder=ROOT)
    assert shown.stdout.splitlines()[-1:] == [RESULTS[name]], shown.stderr
    expected = [line for call in CALLS[name] for line in (f"dies before {call}", call)]
    assert notes.read_text().splitlines() == expected
