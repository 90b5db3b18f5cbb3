"""README.md and the pages for users do what they say, with the programs as written there."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from typer.main import get_command

from holdfast.cli.main import app as command_line
from tests.acceptance.processes import ROOT, environment, python

PAGES = {
    path.name: path.read_text()
    for path in (
        ROOT / "README.md",
        *(
            ROOT / "docs" / f"{name}.md"
            for name in ("quickstart", "tasks", "testing", "conversations")
        ),
        *sorted((ROOT / "docs").glob("migrate-from-*.md")),
    )
}
#: Pages for users of other systems whose Python is a test module.
GUIDES = [f"migrate-from-{name}.md" for name in ("dbos", "dramatiq", "rq", "temporal")]
WAIT_S = 20
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")

_PROGRAM = re.compile(r'^```python title="([\w.]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SHOWN = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_TALK = re.compile(r"^    \$ holdfast chat bot:app\n((?:    .*\n)+)", re.MULTILINE)
_CURL = re.compile(r"^    (curl .*)$", re.MULTILINE)
_COMMAND = re.compile(r"(?:`|^    |\$\()holdfast ([^`\n#]*)", re.MULTILINE)


def _write_programs(page: str, folder: Path) -> None:
    """Write the programs of a page into a folder."""
    for name, code in _PROGRAM.findall(PAGES[page]):
        (folder / name).write_text(code)


def _curl(command: str, url: str, **variables: str) -> str:
    """Send a call as a page writes it, to a server of ours."""
    script = command.replace("localhost:8080", url).replace("$H", url)
    called = subprocess.run(
        ["bash", "-c", script],  # noqa: S607
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return called.stdout


def _holdfast(folder: Path, *args: str) -> str:
    """Run a command that must succeed, and return what it prints."""
    shown = python("-m", "holdfast.cli", *args, folder=folder)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return shown.stdout.strip()


class Running:
    """A command that runs in the background."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    def said(self) -> str:
        """Return what it has printed so far."""
        return self._log.read_text()

    def wait_for(self, text: str) -> None:
        """Wait until it has printed something."""
        deadline = time.monotonic() + WAIT_S
        while text not in self.said():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.02)


@contextlib.contextmanager
def _running(folder: Path, *args: str) -> Iterator[Running]:
    log = folder / f"{args[0]}-{time.monotonic_ns()}.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "holdfast.cli", *args],
            cwd=folder,
            env=environment(folder),
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield Running(process, log)
            process.send_signal(signal.SIGINT)
            process.wait(WAIT_S)
        finally:
            process.kill()


@pytest.mark.parametrize("warnings", [(), ("-W", "default")], ids=["plain", "with-warnings"])
def test_the_first_program_of_the_readme_prints_what_it_says(
    tmp_path: Path, warnings: tuple[str, ...]
) -> None:
    """A new person's first program, with nothing else running, and without a warning."""
    _write_programs("README.md", tmp_path)
    shown = python(*warnings, "hello.py", folder=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [shown.stdout] == _SHOWN.findall(PAGES["README.md"])


def test_the_first_program_has_at_most_15_lines() -> None:
    """The first five minutes must not be spent typing."""
    programs = dict(_PROGRAM.findall(PAGES["README.md"]))
    assert len(programs["hello.py"].splitlines()) <= 15


def test_the_second_program_of_the_readme_runs_as_written(tmp_path: Path) -> None:
    """A task with steps and a sleep."""
    _write_programs("README.md", tmp_path)
    shown = python("order.py", folder=tmp_path)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "RECEIPT FOR 1250\n", "")


def test_the_second_program_of_the_readme_continues_after_a_kill(tmp_path: Path) -> None:
    """The second run is the same order: it is charged once, and there is one execution."""
    _write_programs("README.md", tmp_path)
    with subprocess.Popen(
        [sys.executable, "order.py"], cwd=tmp_path, env=environment(tmp_path)
    ) as run:
        deadline = time.monotonic() + WAIT_S
        steps: list[str] = []
        while steps[:1] != ["charge"]:
            assert time.monotonic() < deadline
            shown = python("-m", "holdfast.cli", "show", "order-17", "--json", folder=tmp_path)
            if shown.returncode == 0:
                steps = [step["name"] for step in json.loads(shown.stdout)["steps"]]
        run.kill()
    again = python("order.py", folder=tmp_path)
    assert (again.returncode, again.stdout) == (0, "RECEIPT FOR 1250\n"), again.stderr
    (only,) = json.loads(_holdfast(tmp_path, "ls", "--json"))["items"]
    assert (only["id"], only["state"]) == ("order-17", "completed")
    recorded = json.loads(_holdfast(tmp_path, "show", "order-17", "--json"))["steps"]
    assert [step["name"] for step in recorded] == ["charge", "sleep:1", "thank"]


def test_the_commands_of_the_readme_run_as_written(tmp_path: Path) -> None:
    """`dev` in one terminal, `submit --wait` and `ls` in another."""
    _write_programs("README.md", tmp_path)
    with _running(tmp_path, "dev", "hello:app") as dev:
        dev.wait_for("Try, in another terminal")
        shown = _holdfast(tmp_path, "submit", "hello", "--input", '{"name": "Ada"}', "--wait")
        assert "Hello Ada" in shown
        assert "completed" in _holdfast(tmp_path, "ls")


def test_the_bot_of_the_readme_talks_as_written(tmp_path: Path) -> None:
    """What a person types in the terminal, and what the bot answers."""
    _write_programs("README.md", tmp_path)
    dialogue = _TALK.findall(PAGES["README.md"])[0].replace("    ", "", 1).replace("\n    ", "\n")
    typed = re.findall(r"^you: (.*)$", dialogue, re.MULTILINE)
    shown = python(
        *("-m", "holdfast.cli", "chat", "bot:app"),
        folder=tmp_path,
        typed="".join(f"{line}\n" for line in typed),
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.partition("(the conversation has ended")[0] == dialogue
    assert "this continues the conversation: holdfast chat bot:app support" in shown.stderr


def test_the_bot_has_at_most_15_lines() -> None:
    """As its heading says."""
    programs = dict(_PROGRAM.findall(PAGES["README.md"]))
    assert len(programs["bot.py"].splitlines()) <= 15


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


@needs_curl
def test_the_quickstart_goes_as_it_says(tmp_path: Path) -> None:
    """Run, explain, crash and go on: what is charged before the crash is not charged after it."""
    _write_programs("quickstart.md", tmp_path)
    result, why = (text.strip() for text in _SHOWN.findall(PAGES["quickstart.md"]))
    first = ("submit", "fulfil", "--input", '{"order": 1, "cents": 1250}', "--wait")
    with _running(tmp_path, "dev", "shop:app", "--listen", "127.0.0.1:0") as dev:
        dev.wait_for("Try, in another terminal")
        assert _holdfast(tmp_path, *first) == result
        (url,) = re.findall(r"^  docs     (http://.*)/docs$", dev.said(), re.MULTILINE)
        submit, ask, follow = _CURL.findall(PAGES["quickstart.md"])
        identity = json.loads(_curl(submit, url))["id"]
        shown = _curl(ask.replace("ID", identity), url)
        assert shown == '{"receipt":"receipt-700","parcel":"parcel-4"}'
        assert 'event: end\ndata: {"state":"completed"}' in _curl(
            follow.replace("ID", identity), url
        )

    order = _holdfast(tmp_path, "submit", "fulfil", "--input", '{"order": 2, "cents": 99}')
    assert _holdfast(tmp_path, "explain", order) == why
    with _running(tmp_path, "worker", "shop:app", "--lease", "2s") as worker:
        worker.wait_for("shipping order 2")
        assert "charging 99 cents" in worker.said()
        worker.process.kill()
    with _running(tmp_path, "worker", "shop:app", "--lease", "2s") as worker:
        shown = _holdfast(tmp_path, "result", order, "--wait", "30")
        assert shown == '{"receipt":"receipt-99","parcel":"parcel-2"}'
        assert "shipping order 2" in worker.said()
        assert "charging" not in worker.said()
        story = _holdfast(tmp_path, "show", order)
        assert all(word in story for word in ("initial", "reclaim", "charge", "ship"))

    runs = [python("buy.py", folder=tmp_path).stdout.splitlines() for _ in range(2)]
    answer = "{'receipt': 'receipt-500', 'parcel': 'parcel-3'}"
    assert runs == [["charging 500 cents", "shipping order 3", answer], [answer]]


@needs_curl
def test_work_is_done_by_hand_over_http(tmp_path: Path) -> None:
    """Every call of the page: submit, register, claim, record a step, complete, read the result."""
    page = (ROOT / "docs" / "http-api.md").read_text().partition("The same by hand")[2]
    submit, register, claim, *work, ask = _CURL.findall(page)
    with _running(tmp_path, "server", "--listen", "127.0.0.1:0") as server:
        server.wait_for("/docs")
        (url,) = re.findall(r"^holdfast serves (\S+)$", server.said(), re.MULTILINE)
        identity = json.loads(_curl(submit, url))["id"]
        assert json.loads(_curl(register, url))["draining"] is False
        (held,) = json.loads(_curl(claim, url))["claims"]
        known = {"ID": identity, "LEASE": json.dumps(held["lease"])}
        answers = [json.loads(_curl(call, url, **known)) for call in work]
        assert answers == [{"name": "render", "result": "Dear Ann"}, {"state": "completed"}]
        assert _curl(ask, url, **known) == '{"sent": true}'


def test_the_python_of_the_tasks_page_is_one_program_that_runs(tmp_path: Path) -> None:
    """Every block of the page, from top to bottom."""
    (tmp_path / "page.py").write_text("\n\n".join(_PYTHON.findall(PAGES["tasks.md"])))
    shown = python("page.py", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "no worker runs here, so it waits: It waits for a worker" in shown.stdout


def test_the_conversations_of_their_page_talk(tmp_path: Path) -> None:
    """Every block of the page, as one app; each conversation is talked with."""
    page = PAGES["conversations.md"]
    ((_, program),) = _PROGRAM.findall(page)
    (tmp_path / "bots.py").write_text("\n\n".join([program, *_PYTHON.findall(page)]))
    talks = {
        "support": ("hi 17 no", "Order 17 is on its way."),
        "say": ("hi", "say: Let me see."),
        "assistant": ("why", "That was 14 characters long."),
        "survey": ("hi old 30 blue 2 none", "30, blue, l, none"),
        "echo": ("hi bye", "You said: hi"),
        "greeter": ("hi", "Welcome, visit 1."),
        "counter": ("a b", "Message 2: b"),
        "complaints": ("hi", "Let me hand you over to a colleague."),
        "refunds": ("hi", ""),
    }
    for name, (typed, said) in talks.items():
        lines = "".join(f"{word}\n" for word in typed.split())
        command = ("-m", "holdfast.cli", "chat", "bots:app", name)
        shown = python(*command, folder=tmp_path, typed=lines)
        assert (shown.returncode, said in shown.stdout) == (0, True), shown.stdout + shown.stderr


def test_the_tests_of_the_testing_page_pass(tmp_path: Path) -> None:
    """Every file of the page, together, as a project of its own."""
    _write_programs("testing.md", tmp_path)
    assert "11 passed" in _tested(tmp_path)


def test_the_python_of_the_guides_is_tests_that_pass(tmp_path: Path) -> None:
    """Each page for users of another system is one module, from top to bottom."""
    for page in GUIDES:
        module = f"test_{page.removesuffix('.md').replace('-', '_')}.py"
        (tmp_path / module).write_text("\n\n".join(_PYTHON.findall(PAGES[page])))
    assert "9 passed" in _tested(tmp_path)


def _tested(folder: Path) -> str:
    """Run the tests of a folder as a project of its own; returns what pytest prints."""
    settings = "[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    (folder / "pytest.ini").write_text(settings)
    found = any(e.value == "holdfast.testing.plugin" for e in entry_points(group="pytest11"))
    plugin = () if found else ("-p", "holdfast.testing.plugin")
    shown = python("-m", "pytest", "-q", *plugin, folder=folder)
    return shown.stdout + shown.stderr


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_exists_with_its_options(page: str) -> None:
    """Nobody is sent to a command or an option that is not there."""
    unknown = []
    for line in _COMMAND.findall(PAGES[page]):
        known, rest = get_command(command_line), line.split()
        options = {"--help", *_options(known)}
        while rest and not rest[0].startswith("-") and rest[0] in getattr(known, "commands", {}):
            known = known.commands[rest.pop(0)]  # type: ignore[attr-defined]
            options = {"--help", *_options(known)}
        if getattr(known, "commands", None) and rest and not rest[0].startswith("-"):
            unknown.append(line)
        unknown += [f"{line}: {word}" for word in rest if _is_option(word) and word not in options]
    assert unknown == []


def _options(command: object) -> list[str]:
    return [name for one in getattr(command, "params", ()) for name in one.opts]


def _is_option(word: str) -> bool:
    return word.startswith("--")
