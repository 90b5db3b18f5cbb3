"""README.md does what it says, as written."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.processes import ROOT, python

README = (ROOT / "README.md").read_text()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The README's Python program, alone in a fresh folder."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    path = tmp_path / "hello.py"
    path.write_text(code)
    return path


def _printed() -> str:
    """Return what the README says that its program prints."""
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return str(shown)


def test_the_python_program_of_the_readme_runs_as_written(program: Path) -> None:
    """A new person's first program prints what the README says."""
    shown = python(program.name, folder=program.parent)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == _printed()


def test_the_program_run_again_finds_its_execution_by_its_key(program: Path) -> None:
    """The second run prints the stored result: the data survives, the work is not redone."""
    first = python(program.name, folder=program.parent)
    changed = program.read_text().replace("Hello", "Good evening")
    program.write_text(changed)
    second = python(program.name, folder=program.parent)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout == first.stdout


def test_the_program_gives_no_warnings(program: Path) -> None:
    """Users who turn warnings on, as test suites do, see none of ours."""
    shown = python("-W", "default", program.name, folder=program.parent)
    assert (shown.returncode, shown.stderr) == (0, "")


def test_make_help_lists_the_commands() -> None:
    """The commands that the README names are there, each with its sentence."""
    shown = subprocess.run(
        ["make", "help"],  # noqa: S607 - whichever make the machine has
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    listed = dict(re.findall(r"^ +make (\w+) +(\S.*)$", shown.stdout, re.MULTILINE))
    assert {"help", "run", "test", "check", "fmt", "bench"} <= listed.keys()
