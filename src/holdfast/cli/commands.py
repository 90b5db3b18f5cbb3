"""The commands of `holdfast`: their sections in the help, their sentences and their modules.

A command's module is imported when the command runs or shows its own help, so that each command
pays only for itself. Commands without a noun are listed here with their sentences. A noun is found
by the first line of its module, which is read without an import: if the docstring of
`cli/things.py` begins with "`holdfast things`: list them.", the help says "List them." The verbs of
a noun are the commands of `app` in its module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group


@dataclass(frozen=True, slots=True)
class Entry:
    """A command, or a noun with verbs: its module, and a sentence about it."""

    module: str
    sentence: str
    #: The command's function; a noun has the app of its module instead.
    function: str | None = None
    settings: Mapping[str, Any] | None = None

    def load(self, name: str) -> Any:
        """Import the command."""
        module = import_module(f"holdfast.cli.{self.module}")
        holder = typer.Typer(rich_markup_mode=None, add_completion=False)
        if self.function is None:
            holder.add_typer(module.app, name=name, help=self.sentence)
        else:
            settings = dict(self.settings or {})
            holder.command(name, context_settings=settings)(getattr(module, self.function))
        return get_group(holder).commands[name]


#: A negative number must not be parsed as an option.
_NUMBERS = {"ignore_unknown_options": True}

_VERBS: dict[str, dict[str, Entry]] = {
    "Run": {
        "dev": Entry(
            "dev",
            "Run an app or packs for development: a store, HTTP, and what you save runs.",
            "dev",
        ),
        "server": Entry(
            "server",
            "Serve the HTTP API and fire timers. "
            "SIGTERM or Ctrl-C drains; a second one stops at once.",
            "server",
        ),
        "host": Entry(
            "host",
            "Serve the packs deployed in an env. "
            "SIGTERM or Ctrl-C drains; a second one stops at once.",
            "host",
        ),
        "worker": Entry(
            "worker",
            "Run the tasks of an app. SIGTERM or Ctrl-C drains; a second one stops at once.",
            "worker",
        ),
        "mcp": Entry(
            "mcp",
            "Serve tasks and operations as MCP tools on stdin and stdout, for agents.",
            "mcp",
        ),
    },
    "Conversations": {
        "chat": Entry(
            "chat",
            "Talk with a conversation of an app or a pack, or with a deployment. Ctrl-D leaves.",
            "chat",
        ),
    },
    "Deployments": {
        "deploy": Entry(
            "deploy",
            "Build a pack, upload it, wait until a host has loaded it, and route new sessions "
            "to it.",
            "deploy",
        ),
        "drain": Entry(
            "drain",
            "Let a revision start nothing more; prints what still needs it.",
            "drain",
        ),
    },
    "Executions": {
        "submit": Entry(
            "submit",
            "Submit an execution of a task. Prints its id, or its result with --wait.",
            "submit",
        ),
        "ls": Entry("listing", "List executions, newest first.", "ls"),
        "show": Entry(
            "show",
            "Show an execution: state, attempts, steps, history, and what it waits for.",
            "show",
        ),
        "logs": Entry(
            "logs",
            "Print the log lines of an execution, oldest first; with --json, one object per line.",
            "logs",
        ),
        "history": Entry(
            "history",
            "Print what happened to an execution, oldest first; with --json, one object per line.",
            "history",
        ),
        "stream": Entry(
            "stream",
            "Print the frames that an execution streams: text as it is, other frames as lines.",
            "stream",
        ),
        "result": Entry(
            "result", "Print the result of an execution. Exits with 1 if it has none.", "result"
        ),
        "view": Entry(
            "view", "Print the view that an execution has set with `ctx.set_view`, as JSON.", "view"
        ),
        "find": Entry(
            "find",
            "Find what has an id: an execution, a graph, a session, a worker, and so on.",
            "find",
        ),
        "explain": Entry("executions", "Explain why an execution is not running.", "explain"),
        "cancel": Entry(
            "executions",
            "Cancel an execution that has not ended; its worker is notified at its next heartbeat.",
            "cancel",
        ),
        "replay": Entry(
            "executions",
            "Run ended executions again, from the beginning by default.",
            "replay",
        ),
        "resubmit": Entry(
            "resubmit",
            "Submit another execution like this one, with the same or another input.",
            "resubmit",
        ),
        "revoke": Entry(
            "executions",
            "Take a running execution from its worker; another worker can claim it at once.",
            "revoke",
        ),
        "prioritize": Entry(
            "executions",
            "Change the priority of an execution; one point equals a minute of waiting.",
            "prioritize",
            _NUMBERS,
        ),
    },
    "Waiting for people and systems": {
        "approve": Entry("signals", "Approve: send a signal named `approve`.", "approve"),
        "deny": Entry("signals", "Deny: send a signal named `deny`.", "deny"),
        "signal": Entry(
            "signals",
            "Send a signal to a waitpoint, or with --name to the code of a running execution.",
            "signal",
        ),
        "resume": Entry(
            "signals",
            "Resume a suspended execution without the answer that it waits for.",
            "resume",
        ),
    },
    "Operate": {
        "tasks": Entry(
            "tasks",
            "List the tasks that workers have published, with signatures; with NAME, "
            "show its schema.",
            "tasks",
        ),
        "top": Entry(
            "top",
            "Watch a store: executions by state and lane, rates, workers, longest wait.",
            "top",
        ),
        "doctor": Entry(
            "doctor",
            "Check a store: server, durability, library, memory, clock, timers, services, workers.",
            "doctor",
        ),
        "verify": Entry(
            "verify",
            "Recompute every index of a store from its records; the store may be in use.",
            "verify",
        ),
        "backup": Entry(
            "backup",
            "Copy a store as of one moment; the store may be in use.",
            "backup",
        ),
        "restore": Entry(
            "backup",
            "Write a backup into an empty store: the last one, or the one with --name.",
            "restore",
        ),
        "bench": Entry(
            "bench",
            "Measure a store: submit, claim and complete executions on a lane of their own.",
            "bench",
        ),
    },
}

_FIRST_LINE = re.compile(r'"""`holdfast (?P<name>[a-z-]+)`: (?P<sentence>.+?)(""")?$')


def _nouns() -> Iterator[tuple[str, Entry]]:
    """Yield the nouns by name, and what their modules say of themselves."""
    verbs = {name for entries in _VERBS.values() for name in entries}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        with file.open(encoding="utf-8") as source:
            line = _FIRST_LINE.match(source.readline())
        if line is not None and line["name"] not in verbs:
            sentence = line["sentence"]
            yield line["name"], Entry(file.stem, sentence[0].upper() + sentence[1:])


SECTIONS: dict[str, dict[str, Entry]] = {**_VERBS, "Manage": dict(_nouns())}
COMMANDS: dict[str, Entry] = {
    name: entry for entries in SECTIONS.values() for name, entry in entries.items()
}


class Commands(Mapping[str, Any]):
    """The commands by name; each is imported on first use."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = COMMANDS[name].load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Program(TyperGroup):
    """The `holdfast` command."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by section, without importing them."""
        del ctx
        width = max(map(len, COMMANDS))
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), entry.sentence) for name, entry in entries.items()]
                formatter.write_dl(rows)
