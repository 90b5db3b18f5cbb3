"""`holdfast worker`: run the tasks of an app until a signal stops it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.process.loading import load_app
from holdfast.cli.process.serving import Development, serve
from holdfast.cli.terminal import inputs
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.cli.terminal.opening import parse_store
from holdfast.cli.terminal.options import AppStoreOption, AppTarget, JsonOption
from holdfast.errors import InvalidInput
from holdfast.model.store_urls import is_remote
from holdfast.tracing import set_up_from_environment
from holdfast.worker.worker import WorkerSettings

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
    lease: Annotated[
        str, typer.Option("--lease", help="How soon the store notices that a worker has died.")
    ] = "30s",
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
    configure_logging(log_level, as_json=as_json)
    set_up_from_environment("holdfast-worker")
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
    app = load_app(target)
    app.store = store or app.store
    if not is_remote(app.store):
        parse_store(app.store)
    development = Development(parent, listen, tuple(packs or ()), tuple(allow_private or ()))
    if serve(target, app, settings, development, as_json=as_json, env=env):
        raise typer.Exit(INTERRUPTED)


def configure_logging(level: str, *, as_json: bool) -> None:
    """Log to stderr. This is the entry point, so no other code has configured logging."""
    if level not in LEVELS:
        raise InvalidInput(f"log-level: must be one of {', '.join(LEVELS)}", field="log-level")
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler])


class TextLines(logging.Formatter):
    """Formats log records for people; records about an attempt name it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(about)s%(message)s")

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

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line that includes its execution."""
        value = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("tenant", "execution", "kind", "attempt", "request", "partition", "queue"):
            if (fact := getattr(record, name, None)) is not None:
                value[name] = fact
        if record.exc_info:
            value["traceback"] = self.formatException(record.exc_info)
        return json.dumps(value, ensure_ascii=False, default=str)
