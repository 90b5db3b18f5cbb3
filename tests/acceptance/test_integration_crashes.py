"""Processes die by kill -9 between any two calls of an agent; no call is repeated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT

pytestmark = [pytest.mark.xdist_group("integrations"), pytest.mark.timeout(120)]

CALLS = {
    "mortal_pydantic_ai": ["model 0", "tool 0", "model 1", "tool 1", "model 2"],
    "mortal_openai_agents": ["guardrail", "desk 0", "clerk 1", "add 1", "clerk 2"],
    "mortal_langgraph": ["a", "b", "c"],
    "mortal_sqlalchemy": ["checkpoint", "submit", "settle"],
}
RESULTS = ["[1, 2]", "[2]", "['a', 'b', 'c']", "booked 1, shipped 1"]
#: A submission from an outbox is repeated with its key, which makes it the same one.
REPEATED = {"settle": ["submit"]}


def test_no_call_is_repeated(single_server: TestServer, tmp_path: Path) -> None:
    """Each call happens in a process of its own, once, and the results are the same."""
    url = f"valkey://127.0.0.1:{single_server.port}?prefix=mortal"
    notes = tmp_path / "notes"
    shown = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.apps.mortal", url, str(notes), *CALLS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert shown.stdout.splitlines() == RESULTS, shown.stderr
    calls = [call for each in CALLS.values() for call in each]
    expected = [
        line for call in calls for line in (f"dies before {call}", *REPEATED.get(call, ()), call)
    ]
    assert notes.read_text().splitlines() == expected
