"""The `holdfast` command: puts the nouns together and turns errors into exit codes.

It must start fast: what is large is imported inside the command that needs it.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from holdfast.cli import (
    archive,
    bench,
    budgets,
    config,
    dev,
    doctor,
    executions,
    failures,
    graphs,
    keyring,
    keys,
    lanes,
    listing,
    logs,
    messages,
    queues,
    quotas,
    result,
    retention,
    schedules,
    server,
    show,
    signals,
    stream,
    submit,
    tasks,
    top,
    waitpoints,
    worker,
    workers,
    writer_lease,
)
from holdfast.errors import HoldfastError

#: All commands of an app; to put them together takes longer than most of them run.
_program = functools.cache(get_command)

#: Set to anything, errors come with their traceback.
DEBUG_VARIABLE = "HOLDFAST_DEBUG"

_RUN = "Run"
_WORK = "Executions"
_WAIT = "Waiting for people and systems"
_OPERATE = "Operate"

app: typer.Typer = typer.Typer(
    name="holdfast",
    help="Durable execution: work that is accepted is held fast until it is done.",
    epilog="Exit codes: 0 done, 1 it failed, 2 wrong usage, 3 not found, 4 store trouble, "
    "130 Ctrl-C.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

for _panel, _commands in {
    _RUN: (dev.dev, server.server, worker.worker),
    _WORK: (
        submit.submit,
        listing.ls,
        show.show,
        logs.logs,
        stream.stream,
        result.result,
        executions.explain,
        executions.cancel,
        executions.replay,
        executions.revoke,
    ),
    _WAIT: (signals.approve, signals.deny, signals.signal, signals.resume),
    _OPERATE: (tasks.tasks, top.top, doctor.doctor, bench.bench),
}.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)

# So that a negative number is not taken for an option.
app.command(rich_help_panel=_WORK, context_settings={"ignore_unknown_options": True})(
    executions.prioritize
)
app.add_typer(waitpoints.app, name="waitpoints", rich_help_panel=_WAIT)
app.add_typer(keyring.app, name="keyring", rich_help_panel=_OPERATE)
app.add_typer(graphs.app, name="graphs", rich_help_panel=_WORK)
app.add_typer(lanes.app, name="lanes", rich_help_panel=_OPERATE)
app.add_typer(retention.app, name="retention", rich_help_panel=_OPERATE)
app.add_typer(schedules.app, name="schedules", rich_help_panel=_OPERATE)
app.add_typer(budgets.app, name="budgets", rich_help_panel=_OPERATE)
app.add_typer(quotas.app, name="quotas", rich_help_panel=_OPERATE)
app.add_typer(workers.app, name="workers", rich_help_panel=_OPERATE)
messages.add_to(queues.app)
app.add_typer(queues.app, name="queues", rich_help_panel=_OPERATE)
app.add_typer(archive.app, name="archive", rich_help_panel=_OPERATE)
app.add_typer(writer_lease.app, name="writer-lease", rich_help_panel=_OPERATE)
app.add_typer(keys.app, name="keys", rich_help_panel=_OPERATE)
app.add_typer(config.app, name="config", rich_help_panel=_OPERATE)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - costs 20 ms

        print(f"holdfast {version('holdfast')}")  # noqa: T201 - this is the command line
        raise typer.Exit


@app.callback()
def _global(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which."),
    ] = False,
) -> None:
    """Durable execution: work that is accepted is held fast until it is done."""
    del version


def run(args: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    as_json = "--json" in args
    try:
        code = _program(app).main(list(args) or ["--help"], "holdfast", standalone_mode=False)
    except HoldfastError as error:
        _debug()
        return failures.report_error(error, as_json=as_json)
    except typer.TyperException as error:
        return _wrong_usage(error, as_json=as_json)
    except typer.Abort:
        return failures.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - one line for people, whatever it is
        _debug()
        message = f"{type(error).__name__}: {error}; {DEBUG_VARIABLE}=1 shows where"
        failures.report("internal_error", message, as_json=as_json, context={})
        return failures.FAILED
    return code if isinstance(code, int) else 0


def _wrong_usage(error: typer.TyperException, *, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "holdfast"
    message = error.format_message().rstrip(".")
    failures.report("wrong_usage", f"{message}: see `{path} --help`", as_json=as_json, context={})
    return failures.WRONG_USAGE


def _debug() -> None:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exc()


def main() -> None:
    """Run the command of this process."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has left; the interpreter must not fail on its last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = failures.FAILED
    sys.exit(code)


if __name__ == "__main__":
    main()
