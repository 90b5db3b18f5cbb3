"""`holdfast doctor`: check that a store is sound, and report its guarantees."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.failures import FAILED, one_line
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.model.findings import Finding, Level
from holdfast.model.redaction import hide_secrets
from holdfast.model.store_urls import is_remote
from holdfast.store.valkey.urls import StoreUrl

_MARKS = {Level.OK: "ok", Level.WARNING: "WARNING", Level.ERROR: "ERROR"}


def doctor(
    *,
    fix: Annotated[
        bool, typer.Option("--fix", help="Reload the function library. Needs the store itself.")
    ] = False,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            "--drift",
            help="Verify every index too, which takes time. Needs the store itself.",
        ),
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a store: server, durability, library, memory, clock, timers, services, workers.

    Exits with 1 if the store is unsound.
    """
    text = opening.existing(store, create=False)
    if is_remote(text) and not (fix or deep):
        name = text
        findings = opening.ask(text, lambda engine: engine.operability.doctor())
    else:
        url = opening.parse_store(text)
        name, findings = str(url), _examine(url, fix=fix, deep=deep)
    sound = all(finding.level is not Level.ERROR for finding in findings)
    if as_json:
        output.emit({"store": hide_secrets(name), "sound": sound, "findings": findings})
    else:
        output.say(f"store {name}")
        for finding in findings:
            output.say(_line(finding))
    if not sound:
        raise typer.Exit(FAILED)


def _examine(url: StoreUrl, *, fix: bool, deep: bool) -> list[Finding]:
    """Examine a store; show a progress bar while verifying."""
    from holdfast.engine import Engine
    from holdfast.operate.doctor import examine

    with contextlib.ExitStack() as stack:
        bars: list[Callable[[int], None]] = []

        def advance(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(output.progress("verifying keys", total)))
            bars[0](done)

        settings = opening.store_settings()
        return asyncio.run(
            examine(url, Engine, settings=settings, fix=fix, deep=deep, advance=advance)
        )


def _line(finding: Finding) -> str:
    text = f"  {_MARKS[finding.level]:<9}{finding.check:<12}{one_line(finding.text)}"
    return f"{text}\n{'':<23}-> {one_line(finding.fix)}" if finding.fix else text
