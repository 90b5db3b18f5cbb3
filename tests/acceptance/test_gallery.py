"""The programs of docs/examples.md: each has a row, and does what it says, in this process."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT

EXAMPLES = ROOT / "examples"
GALLERY = runpy.run_path(str(ROOT / "tools" / "docsite" / "gallery.py"))
_ROW = re.compile(r"^\| \[([\w.]+)\]\(\.\./examples/([\w./]+)\) \| (.*) \|$", re.MULTILINE)

#: What each program prints. tests/acceptance/test_examples.py runs the others, in processes.
PRINTED = {
    "agent.py": """
        asked: Budget llm has no requests left: 1 of 1. What is the new limit?
        {"temperature":21}
        requests: 2
    """,
    "archive.py": """
        failed: the price is missing
        invoice 17: 300 cents
        archived as completed: b'"invoice 17: 300 cents"'
    """,
    "changing_code.py": """
        receipt 17, unchecked
        receipt 18, checked
    """,
    "crawl.py": """
        more than once: ['tea']
    """,
    "encrypted.py": """
        Hello Ada
        the payload is sealed with the key 2026, which is not here: add it to HOLDFAST_CODEC_KEYS
    """,
    "fanout.py": """
        audit: order 1
        audit: order 2
        mail: order 1
        mail: order 2
    """,
    "fenced_report.py": """
        the first writer is fenced off
        written by: second
    """,
    "handover.py": """
        cyd: hi
        bot: Hello! What is wrong?
        cyd: my teapot leaks
        bot: Let me hand you over to Ann.
        cyd: It leaks a lot.
        ann: I am sending a new one.
        bot: I am back. You wrote 1 messages to Ann.
    """,
    "nightly_report.py": """
        the next report is made at 30 minutes past the hour
        2 sales, 2240 cents
        total: 2240
    """,
    "rate_limited.py": """
        degrees: [4, 4, 4, 5, 5, 5]
        at once, at most: 2
    """,
    "saga.py": """
        booking a flight in Ghent
        booking a hotel in Ghent
        booking a car in Ghent
        cancelling the hotel
        cancelling the flight
        no car, so no trip
    """,
    "timeouts.py": """
        the second attempt was quick
        cancelled: not needed any more
        expired
    """,
    "web_api.py": """
        events: ['text', 'text', 'text', 'end']
        a message without a signature: 401
    """,
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_program_prints_what_it_promises(
    name: str,
    single_server: TestServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a store of its own, on a server that all share."""
    prefix = f"gallery-{name.partition('.')[0]}"
    url = f"valkey://127.0.0.1:{single_server.port}?prefix={prefix}"
    monkeypatch.setenv("HOLDFAST_STORE", url)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    expected = [line.strip() for line in PRINTED[name].strip().splitlines()]
    assert capsys.readouterr().out.splitlines() == expected


def test_the_gallery_says_what_the_programs_say_about_themselves() -> None:
    """One sentence each, for every program, and a row for every pack."""
    rows = {path: (title, about) for title, path, about in _ROW.findall(_page())}
    programs = [path for path in EXAMPLES.iterdir() if path.suffix in (".py", ".mjs")]
    said = {path.name: (path.name, GALLERY["about"](path)) for path in programs}
    packs = {f"packs/{path.name}" for path in (EXAMPLES / "packs").iterdir()}
    assert {path: row for path, row in rows.items() if path not in packs} == said
    assert packs <= rows.keys()
    assert len(programs) >= 15


def _page() -> str:
    return (ROOT / "docs" / "examples.md").read_text("utf-8")
