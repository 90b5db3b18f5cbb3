"""Every command of `holdfast`: its place in the help, its sentence, and the module that has it.

A command's module is imported when the command runs or shows its own help, so that each pays
for itself only. The sentences are here so that `holdfast --help` imports none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group


@dataclass(frozen=True, slots=True)
class Entry:
    """A command or a noun with verbs: where it is, and what it does in a sentence."""

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
            holder.add_typer(module.app, name=name)
        else:
            settings = dict(self.settings or {})
            holder.command(name, context_settings=settings)(getattr(module, self.function))
        return get_group(holder).commands[name]


#: So that a negative number is not taken for an option.
_NUMBERS = {"ignore_unknown_options": True}

SECTIONS: dict[str, dict[str, Entry]] = {
    "Run": {
        "dev": Entry(
            "dev",
            "Run an app for development: a store, HTTP, a worker, reload when a file changes.",
            "dev",
        ),
        "server": Entry(
            "server",
            "Serve the HTTP API and fire timers. SIGTERM or Ctrl-C stops it; once more, at once.",
            "server",
        ),
        "worker": Entry(
            "worker",
            "Run the tasks of an app. SIGTERM or Ctrl-C drains; once more stops at once.",
            "worker",
        ),
    },
    "Conversations": {
        "chat": Entry(
            "chat",
            "Talk with a conversation of an app; a worker for it runs here. Ctrl-D or Ctrl-C "
            "leaves.",
            "chat",
        ),
        "sessions": Entry(
            "sessions", "Sessions: list, show, transcript, say, hand over, end, resend, erase."
        ),
    },
    "Executions": {
        "submit": Entry(
            "submit",
            "Submit an execution of a task. Prints its id, or with --wait its result.",
            "submit",
        ),
        "ls": Entry("listing", "List executions, newest first.", "ls"),
        "show": Entry(
            "show",
            "Show an execution: its state, attempts, steps, history, and what it waits for.",
            "show",
        ),
        "logs": Entry(
            "logs",
            "Print what happened to an execution, oldest first; with --json one object per line.",
            "logs",
        ),
        "stream": Entry(
            "stream",
            "Print what an execution streams: text as it is, other frames as lines.",
            "stream",
        ),
        "result": Entry(
            "result", "Print the result of an execution. Exits with 1 if it has none.", "result"
        ),
        "explain": Entry("executions", "Say why an execution is not running.", "explain"),
        "cancel": Entry(
            "executions",
            "Cancel an execution that has not ended; its worker is told at its next heartbeat.",
            "cancel",
        ),
        "replay": Entry(
            "executions",
            "Run executions that have ended once more, from their start unless told otherwise.",
            "replay",
        ),
        "revoke": Entry(
            "executions",
            "Take a running execution from its worker; another one may take it at once.",
            "revoke",
        ),
        "prioritize": Entry(
            "executions",
            "Change the priority of an execution; a point is worth a minute of waiting.",
            "prioritize",
            _NUMBERS,
        ),
        "graphs": Entry("graphs", "Graphs: list, show, cancel, replay."),
    },
    "Waiting for people and systems": {
        "approve": Entry("signals", "Approve: a signal named `approve`.", "approve"),
        "deny": Entry("signals", "Deny: a signal named `deny`.", "deny"),
        "signal": Entry("signals", "Send a signal to a waitpoint.", "signal"),
        "resume": Entry(
            "signals", "Let a suspended execution go on without what it waits for.", "resume"
        ),
        "waitpoints": Entry("waitpoints", "What waits for an answer: list, show, token, revoke."),
    },
    "Operate": {
        "tasks": Entry(
            "tasks",
            "List the tasks that workers have published, with their signatures; with NAME, "
            "its schema.",
            "tasks",
        ),
        "top": Entry(
            "top",
            "Watch a store: executions by state and lane, rates, workers, the oldest that waits.",
            "top",
        ),
        "doctor": Entry(
            "doctor",
            "Check a store: server, durability, library, memory, clock, timers, services, workers.",
            "doctor",
        ),
        "bench": Entry(
            "bench",
            "Measure a store: submit, claim and complete executions on a lane of their own.",
            "bench",
        ),
        "keyring": Entry("keyring", "Keys that sign tokens: show, rotate."),
        "lanes": Entry("lanes", "Lanes: list, pause, resume, drain, tenants' weights."),
        "retention": Entry(
            "retention",
            "How long ended executions are kept: show, set, for all tenants or for one.",
        ),
        "schedules": Entry(
            "schedules",
            "Schedules: list, show, create, pause, resume, trigger, delete, next fire times.",
        ),
        "budgets": Entry("budgets", "Budgets: list, create, limits, reset, breaches, rules."),
        "quotas": Entry("quotas", "Quotas: list, create, limits, delete, rules."),
        "workers": Entry("workers", "Workers: list, drain."),
        "queues": Entry(
            "messages", "Message queues: define, push, read, tail, dead letters, counts."
        ),
        "archive": Entry(
            "archive",
            "The archive: status, enable, disable, run, export, import, parquet, verify, erase.",
        ),
        "writer-lease": Entry(
            "writer_lease", "Writer leases: show, acquire, release, hand over, repair."
        ),
        "keys": Entry("keys", "API keys: create, list, revoke."),
        "config": Entry("config", "Settings that are in force: show."),
    },
}

COMMANDS: dict[str, Entry] = {
    name: entry for entries in SECTIONS.values() for name, entry in entries.items()
}


class Commands(Mapping[str, Any]):
    """The commands by name; each is imported when it is asked for."""

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
