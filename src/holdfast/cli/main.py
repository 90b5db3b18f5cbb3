"""The `holdfast` command: run a subcommand and turn errors into exit codes."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from holdfast.cli.commands import Program
from holdfast.cli.terminal import failures
from holdfast.errors import HoldfastError

_program = functools.cache(get_command)

#: If it is set, errors are printed with their traceback.
DEBUG_VARIABLE = "HOLDFAST_DEBUG"

app: typer.Typer = typer.Typer(
    name="holdfast",
    cls=Program,
    help="Durable execution: accepted work is kept until it is done.",
    epilog="Exit codes: 0 success, 1 failure, 2 wrong usage, 3 not found, 4 store unavailable, "
    "130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    # The panels that rich draws cost half the time of `--help`.
    rich_markup_mode=None,
)


def _print_version(requested: bool) -> None:  # noqa: FBT001 - typer calls it so
    if requested:
        from importlib.metadata import version

        print(f"holdfast {version('holdfast')}")
        raise typer.Exit


@app.callback()
def _global(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Durable execution: accepted work is kept until it is done."""
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
    except Exception as error:  # noqa: BLE001 - people get one line for any error
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
        import traceback

        traceback.print_exc()


def main() -> None:
    """Run the command of this process."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has closed it; the interpreter must not fail on its last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = failures.FAILED
    sys.exit(code)


if __name__ == "__main__":
    main()
