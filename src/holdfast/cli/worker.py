"""`holdfast worker`: run the tasks of an app until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import inputs
from holdfast.cli.failures import INTERRUPTED
from holdfast.cli.loading import load_app
from holdfast.cli.options import AppStoreOption, AppTarget, JsonOption
from holdfast.cli.session import parse_store
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.worker.app import App
    from holdfast.worker.worker import Worker

LEVELS = ("debug", "info", "warning", "error")

_PARENT_LOOK_S = 1.0

Slots = Annotated[int, typer.Option("--slots", help="Executions at once.")]
Threads = Annotated[int, typer.Option("--threads", help="Threads for `def` tasks.")]
Lanes = Annotated[
    list[str] | None,
    typer.Option(
        "--lane", "--lanes", help="Claim from this lane; repeatable.", show_default="its tasks'"
    ),
]
Capabilities = Annotated[
    list[str] | None,
    typer.Option("--capability", "--capabilities", help="What it can do; repeatable."),
]
Name = Annotated[str, typer.Option("--name", help="The pool that it belongs to.")]
LeaseTime = Annotated[
    str, typer.Option("--lease", help="Lost work is noticed after this long: 30s, 2m.")
]
LogLevel = Annotated[
    str, typer.Option("--log-level", metavar="LEVEL", help=f"{', '.join(LEVELS)}.")
]


def worker(
    target: AppTarget,
    slots: Slots = 100,
    threads: Threads = 32,
    lanes: Lanes = None,
    capabilities: Capabilities = None,
    name: Name = "worker",
    lease: LeaseTime = "30s",
    log_level: LogLevel = "info",
    store: AppStoreOption = None,
    as_json: JsonOption = False,
    parent: Annotated[int, typer.Option("--parent", hidden=True)] = 0,
    first: Annotated[bool, typer.Option("--first", hidden=True)] = False,
) -> None:
    """Run the tasks of an app. SIGTERM or Ctrl-C drains; once more stops at once."""
    from holdfast.worker.worker import WorkerSettings  # noqa: PLC0415 - the SDK is large

    _configure_logging(log_level, as_json=as_json)
    settings = WorkerSettings(
        name=name,
        lanes=inputs.names(lanes or ()),
        capabilities=inputs.names(capabilities or ()),
        slots=slots,
        threads=threads,
        lease_ms=inputs.duration_ms("lease", lease),
    )
    app = load_app(target)
    app.store = store or app.store
    parse_store(app.store)

    async def work() -> bool:
        from holdfast.worker.worker import Worker  # noqa: PLC0415 - loaded by now

        async with app:
            return await _run(
                Worker(app, settings),
                lambda running: _announce(target, app, running, as_json=as_json, first=first),
                parent,
            )

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        interrupted = runner.run(work())
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _announce(target: str, app: App, worker: Worker, *, as_json: bool, first: bool) -> None:
    from holdfast.cli import intro  # noqa: PLC0415 - beside the SDK

    intro.show(target, app, worker, as_json=as_json, try_line=first)


async def _run(worker: Worker, announce: Callable[[Worker], None], parent: int) -> bool:
    """Work until a signal has drained it; returns whether that was Ctrl-C."""
    from holdfast.worker.worker import stop_on_signals  # noqa: PLC0415 - loaded by now

    with stop_on_signals(worker), _noting_ctrl_c() as interrupted:
        running = asyncio.ensure_future(worker.run())
        watching = asyncio.ensure_future(_follow_parent(worker, parent))
        try:
            await worker.wait_started(running)
            announce(worker)
            await running
        finally:
            watching.cancel()
    return interrupted.is_set()


@contextlib.contextmanager
def _noting_ctrl_c() -> Iterator[asyncio.Event]:
    """Treat Ctrl-C as SIGTERM, but remember it for the exit code."""
    seen = asyncio.Event()

    def interrupt() -> None:
        seen.set()
        os.kill(os.getpid(), signal.SIGTERM)

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
    yield seen


async def _follow_parent(worker: Worker, parent: int) -> None:
    """Drain when the process that started us is gone, as `holdfast dev` may be killed."""
    while parent and os.getppid() == parent:
        await asyncio.sleep(_PARENT_LOOK_S)
    if parent:
        worker.drain()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Use uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - optional, and only workers need it
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _configure_logging(level: str, *, as_json: bool) -> None:
    """Write logs to stderr: this is the entry point, nobody else has configured them."""
    if level not in LEVELS:
        raise InvalidInput(f"log-level: must be one of {', '.join(LEVELS)}", field="log-level")
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else _formatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])


def _formatter() -> logging.Formatter:
    return logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")


class JsonLines(logging.Formatter):
    """Log records as JSON objects, one on a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line, with the execution that it belongs to."""
        value = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("tenant", "execution", "attempt"):
            if hasattr(record, name):
                value[name] = getattr(record, name)
        if record.exc_info:
            value["traceback"] = self.formatException(record.exc_info)
        return json.dumps(value, ensure_ascii=False, default=str)
