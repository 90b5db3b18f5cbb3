"""`holdfast verify`: recompute every index of a store from its records."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.failures import FAILED, one_line
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.engine import Engine
    from holdfast.operate.verify import Verified
    from holdfast.store.verify.walking import Found

#: The most drifts in a table; --json has all of them.
_MOST_SHOWN = 100


def verify(
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what differs.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute every index of a store from its records; the store may be in use.

    Exits with 1 if something differs and is not repaired.
    """
    found = opening.ask_store(store, lambda engine: _verify(engine, fix=fix))
    if as_json:
        output.emit(
            {
                "keys": found.keys,
                "entries": found.entries,
                "sound": not found.left,
                "drifts": [_fields(one) for one in found.drifts],
            }
        )
    else:
        _show(found)
    if found.left:
        raise typer.Exit(FAILED)


async def _verify(engine: Engine, *, fix: bool) -> Verified:
    from holdfast.operate.verify import verify

    with contextlib.ExitStack() as stack:
        bars: list[Callable[[int], None]] = []

        def advance(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(output.progress("verifying keys", total)))
            bars[0](done)

        return await verify(engine.store, fix=fix, advance=advance)


def _show(found: Verified) -> None:
    counted = f"{output.count(found.keys, 'key')}, {found.entries:,} entries of indexes"
    if not found.drifts:
        output.say(f"sound: {counted} agree with the records")
        return
    rows = [
        (one.drift.kind, one.tag, one_line(str(one.drift)), _fate(one))
        for one in found.drifts[:_MOST_SHOWN]
    ]
    output.show_table(("KIND", "PARTITION", "DRIFT", ""), rows, nothing="")
    repaired = len(found.drifts) - len(found.left)
    text = f"{counted}; {output.count(len(found.drifts), 'drift')}, {repaired} repaired"
    if any(one.drift.repairs for one in found.left):
        text += "; `holdfast verify --fix` repairs them"
    output.say(text)


def _fate(found: Found) -> str:
    if found.repaired:
        return "repaired"
    return "can be repaired" if found.drift.repairs else "please report it"


def _fields(found: Found) -> dict[str, object]:
    return {
        "kind": found.drift.kind,
        "partition": found.tag,
        "text": str(found.drift),
        "repairable": bool(found.drift.repairs),
        "repaired": found.repaired,
    }
