"""Processes die by kill -9 between any two calls of an agent; no call is repeated."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT
from tests.support import postgres

pytestmark = pytest.mark.timeout(120)

CALLS = {
    "mortal_pydantic_ai": ["model 0", "tool 0", "model 1", "tool 1", "model 2"],
    "mortal_openai_agents": ["guardrail", "desk 0", "clerk 1", "add 1", "clerk 2"],
    "mortal_langgraph": ["a", "b", "c"],
    "mortal_sqlalchemy": ["checkpoint", "submit", "settle"],
    "mortal_django": ["commit", "relay", "remove"],
}
BOOKED = "booked 1, shipped 1"
RESULTS = ["[1, 2]", "[2]", "['a', 'b', 'c']", BOOKED, BOOKED]
#: What the next process does, if it is not the call alone. A submission from an outbox is repeated
#: with its key, which makes it the same one. A commit has happened.
NEXT = {"settle": ["submit", "settle"], "remove": ["relay", "remove"], "commit": []}


def test_no_call_is_repeated(single_server: TestServer, tmp_path: Path) -> None:
    """Each call happens in a process of its own, once, and the results are the same."""
    _die_everywhere(single_server, tmp_path, CALLS, RESULTS)


def test_no_effect_is_repeated_on_postgresql(
    single_server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on SQLite."""
    programs = postgres.folder()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed on this machine")
    apps = {name: CALLS[name] for name in ("mortal_sqlalchemy", "mortal_django")}
    with postgres.start(programs) as url:
        monkeypatch.setenv("MORTAL_DATABASE", url)
        monkeypatch.setenv("BAKERY_DATABASE", url.replace("/postgres?", "/template1?"))
        _die_everywhere(single_server, tmp_path, apps, [BOOKED, BOOKED])


def _die_everywhere(
    server: TestServer, place: Path, apps: Mapping[str, Sequence[str]], results: Sequence[str]
) -> None:
    url = f"valkey://127.0.0.1:{server.port}?prefix=mortal{len(apps)}"
    notes = place / "notes"
    shown = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.apps.mortal", url, str(notes), *apps],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert shown.stdout.splitlines() == results, shown.stderr
    calls = [call for each in apps.values() for call in each]
    expected = [line for call in calls for line in (f"dies before {call}", *NEXT.get(call, [call]))]
    assert notes.read_text().splitlines() == expected
