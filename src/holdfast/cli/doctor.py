"""`holdfast doctor`: is the store sound, and what does it promise?"""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from holdfast.cli.diagnosis import examine
from holdfast.cli.findings import Finding, Status
from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.failures import FAILED, one_line
from holdfast.cli.terminal.options import JsonOption, OwnStoreOption

_MARKS = {Status.OK: "ok", Status.WARNING: "WARNING", Status.PROBLEM: "PROBLEM"}


def doctor(
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Load our function library anew.")] = False,
    drift: Annotated[
        bool, typer.Option("--drift", help="Compare indexes with every execution; takes time.")
    ] = False,
    store: OwnStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a store: server, durability, library, memory, clock, timers, workers.

    Exits with 1 if it is unsound.
    """
    url = opening.parse_store(opening.existing(store, create=False))
    found = asyncio.run(examine(url, fix=fix, drift=drift))
    sound = all(finding.status is not Status.PROBLEM for finding in found)
    if as_json:
        output.emit({"store": str(url), "sound": sound, "findings": found})
    else:
        output.say(f"store {url}")
        for finding in found:
            output.say(_line(finding))
    if not sound:
        raise typer.Exit(FAILED)


def _line(finding: Finding) -> str:
    text = f"  {_MARKS[finding.status]:<9}{finding.check:<12}{one_line(finding.detail)}"
    return f"{text}\n{'':<23}-> {finding.advice}" if finding.advice else text
