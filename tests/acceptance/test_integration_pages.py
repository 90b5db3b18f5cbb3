"""The pages of integrations do what they say, with the programs as written there."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from agents import set_tracing_disabled
from starlette.testclient import TestClient

from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT

PAGES = {
    path.stem: path.read_text()
    for path in (ROOT / "docs" / "integrations").glob("*.md")
    if path.stem != "README"
}
_PROGRAM = re.compile(r'^```python title="([\w.]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_SHOWN = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_DIFF = re.compile(r"^```diff\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def store(single_server: TestServer, request: pytest.FixtureRequest) -> str:
    """The URL of an empty store."""
    prefix = re.sub(r"\W+", "-", request.node.name)
    return f"valkey://127.0.0.1:{single_server.port}?prefix={prefix}"


@pytest.mark.parametrize("page", PAGES)
def test_the_program_of_a_page_prints_what_it_says(
    page: str,
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is under 25 lines, and runs against the real library."""
    set_tracing_disabled(disabled=True)
    monkeypatch.setenv("HOLDFAST_STORE", store)
    ((name, program),) = _PROGRAM.findall(PAGES[page])
    assert len(program.splitlines()) < 25
    path = tmp_path / name
    path.write_text(program.replace("embedded://.holdfast", store))
    monkeypatch.chdir(tmp_path)
    (shown,) = _SHOWN.findall(PAGES[page])
    if page == "django":
        # A process has one project of Django, and this one may have another.
        run = [sys.executable, "-W", "error", str(path)]
        assert subprocess.check_output(run, text=True, timeout=50) == shown
        return
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == shown


def test_a_program_with_fastapi_becomes_durable_by_five_lines(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both programs of the diff answer alike; the second one has an execution to show."""
    monkeypatch.setenv("HOLDFAST_STORE", store)
    (diff,) = _DIFF.findall(PAGES["pydantic-ai"])
    lines = diff.splitlines()
    assert len([line for line in lines if line.startswith("+")]) <= 5
    answers = [_answer(_side(lines, sign), tmp_path / f"{name}.py") for sign, name in _SIDES]
    assert answers == ['"fine"', '"fine"']


_FAKE = '__import__("pydantic_ai.models.test").models.test.TestModel(custom_output_text="fine")'
_SIDES = (("-", "before"), ("+", "after"))


def _side(lines: list[str], sign: str) -> str:
    return "\n".join(line[1:] for line in lines if line[:1] in (sign, " ", ""))


def _answer(program: str, path: Path) -> str:
    path.write_text(program.replace('"openai:gpt-5.2"', _FAKE))
    api = runpy.run_path(str(path))["api"]
    with TestClient(api) as client:
        return client.get("/ask", params={"question": "how are you?"}).text
