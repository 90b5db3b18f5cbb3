"""`holdfast worker`: run the tasks of an app until a signal stops it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.process.crew import Crew
from holdfast.cli.process.loading import load_app
from holdfast.cli.process.member import Member, number_of
from holdfast.cli.process.serving import Serving, serve
from holdfast.cli.terminal import inputs, output
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.cli.terminal.opening import parse_store
from holdfast.cli.terminal.options import AppStoreOption, AppTarget, JsonOption
from holdfast.errors import InvalidInput
from holdfast.model import checks
from holdfast.model.store_urls import is_remote
from holdfast.tracing import set_up_from_environment
from holdfast.worker.app import App
from holdfast.worker.worker import WorkerSettings

MOST_PROCESSES = 256
LEVELS = ("debug", "info", "warning", "error")

Slots = Annotated[int, typer.Option("--slots", help="Maximum executions to run at once.")]
Threads = Annotated[int, typer.Option("--threads", help="The number of threads for `def` tasks.")]
Name = Annotated[str, typer.Option("--name", help="The name of the worker's pool.")]
Capabilities = Annotated[
    list[str] | None,
    typer.Option(
        "--capability",
        "--capabilities",
        metavar="NAME",
        help="A capability of the worker; repeatable.",
    ),
]
LogLevel = Annotated[
    str, typer.Option("--log-level", metavar="LEVEL", help=f"{', '.join(LEVELS)}.")
]
KeepLogs = Annotated[
    str,
    typer.Option(
        "--keep-logs",
        metavar="LEVEL",
        help="Keep log lines of tasks from this level on, for `holdfast logs`; `off` keeps none.",
    ),
]
Lanes = Annotated[
    list[str] | None,
    typer.Option(
        "--lane",
        "--lanes",
        metavar="LANE",
        help="A lane to claim from; repeatable.",
        show_default="the lanes of its tasks",
    ),
]
OfRevision = Annotated[
    str | None,
    typer.Option(
        "--revision",
        metavar="ID",
        help="Work for this revision of a deployment of the app.",
        show_default="none",
    ),
]
Lease = Annotated[
    str, typer.Option("--lease", help="How soon the store notices that a worker has died.")
]
Processes = Annotated[
    int,
    typer.Option(
        "--processes",
        metavar="COUNT",
        help="How many processes run, each with all the slots; 0 for one per CPU.",
    ),
]
#: Set by `holdfast dev`: the process to follow, where to serve HTTP, and packs to host.
Parent = Annotated[int, typer.Option("--parent", hidden=True)]
Listen = Annotated[str | None, typer.Option("--listen", hidden=True)]
Packs = Annotated[list[Path] | None, typer.Option("--pack", hidden=True)]
AllowPrivate = Annotated[list[str] | None, typer.Option("--allow-private", hidden=True)]


def worker(
    target: AppTarget,
    *,
    slots: Slots = 100,
    threads: Threads = 32,
    lanes: Lanes = None,
    capabilities: Capabilities = None,
    revision: OfRevision = None,
    env: EnvOption = "local",
    name: Name = "worker",
    lease: Lease = "30s",
    processes: Processes = 1,
    log_level: LogLevel = "info",
    keep_logs: KeepLogs = "info",
    store: AppStoreOption = None,
    as_json: JsonOption = False,
    parent: Parent = 0,
    listen: Listen = None,
    packs: Packs = None,
    allow_private: AllowPrivate = None,
) -> None:
    """Run the tasks of an app. SIGTERM or Ctrl-C drains; a second one stops at once."""
    member = Member.from_environment()
    configure_logging(log_level, as_json=as_json, process=number_of(member))
    settings = WorkerSettings(
        name=name,
        lanes=inputs.names(lanes or ()),
        capabilities=inputs.names(capabilities or ()),
        revision=revision,
        slots=slots,
        threads=threads,
        lease_ms=inputs.duration_ms("lease", lease),
        keep_logs=None if keep_logs == "off" else keep_logs,
    )
    if member is None and (count := processes_of(processes)) > 1:
        run_crew(count, as_json=as_json)
        return
    set_up_from_environment("holdfast-worker")
    app = _app(target, store)
    how = Serving(
        as_json=as_json,
        parent=parent,
        listen=listen,
        packs=tuple(packs or ()),
        allow_private=tuple(allow_private or ()),
        env=env,
        member=member,
    )
    if serve(target, app, settings, how):
        raise typer.Exit(INTERRUPTED)


def _app(target: str, store: str | None) -> App:
    """Load the app, on another store if one is given."""
    app = load_app(target)
    app.store = store or app.store
    if not is_remote(app.store):
        parse_store(app.store)
    return app


def processes_of(given: int) -> int:
    """Return how many processes to run."""
    count = checks.integer("processes", given, 0, MOST_PROCESSES)
    return count or min(MOST_PROCESSES, os.cpu_count() or 1)


def run_crew(
    count: int, *, as_json: bool, port: int | None = None, folder: str | None = None
) -> None:
    """Run this command in several processes until a signal stops them."""

    def announce(pids: list[int]) -> None:
        if as_json:
            output.emit({"event": "running", "processes": pids})
        else:
            output.say(f"holdfast runs {count} processes: {', '.join(map(str, pids))}")

    async def work() -> int:
        return await Crew(count, port=port, folder=folder).run(announce)

    if code := asyncio.run(work()):
        raise typer.Exit(code)


def configure_logging(level: str, *, as_json: bool, process: int | None = None) -> None:
    """Log to stderr. This is the entry point, so no other code has configured logging."""
    if level not in LEVELS:
        raise InvalidInput(f"log-level: must be one of {', '.join(LEVELS)}", field="log-level")
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(process) if as_json else TextLines(process))
    logging.basicConfig(level=level.upper(), handlers=[handler])


class TextLines(logging.Formatter):
    """Formats log records for people; records about an attempt name it."""

    def __init__(self, process: int | None = None) -> None:
        number = "" if process is None else f"({process}) "
        super().__init__(f"%(asctime)s {number}%(levelname)-7s %(name)s: %(about)s%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line, followed by its traceback if it has one."""
        execution, kind = getattr(record, "execution", None), getattr(record, "kind", None)
        attempt = getattr(record, "attempt", None)
        # People count attempts from 1.
        number = f"#{attempt + 1}" if isinstance(attempt, int) else None
        about = " ".join(str(part) for part in (execution, kind, number) if part is not None)
        record.about = f"[{about}] " if execution is not None else ""
        return super().format(record)


class JsonLines(logging.Formatter):
    """Formats log records as JSON objects, one per line."""

    def __init__(self, process: int | None = None) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line that includes its execution."""
        value: dict[str, Any] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if self._process is not None:
            value["process"] = self._process
        for name in ("tenant", "execution", "kind", "attempt", "request", "partition", "queue"):
            if (fact := getattr(record, name, None)) is not None:
                value[name] = fact
        if record.exc_info:
            value["traceback"] = self.formatException(record.exc_info)
        return json.dumps(value, ensure_ascii=False, default=str)
