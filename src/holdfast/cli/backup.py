"""`holdfast backup` and `holdfast restore`: copies of whole stores."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import InvalidInput
from holdfast.model import codec as codecs

if TYPE_CHECKING:
    from holdfast.backup.manifest import Manifest
    from holdfast.engine import Engine
    from holdfast.fencing.objects import ObjectStore

#: A lease is not at stake, and a request carries about 8 MiB.
_REQUEST_TIMEOUT_S = 60.0

PlaceArgument = Annotated[
    str,
    typer.Argument(metavar="URL", help="A folder, file:///PATH, s3://BUCKET/PREFIX, gs://, az://."),
]
NameOption = Annotated[str | None, typer.Option("--name", help="The name of the backup.")]


def backup(
    url: PlaceArgument,
    *,
    name: NameOption = None,
    encrypt: Annotated[
        bool,
        typer.Option("--encrypt", help=f"Seal it with the first key of {codecs.KEYS_VARIABLE}."),
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a store as of one moment; the store may be in use.

    Prints the name of the backup, which is the time by default.
    """
    codec = codecs.of_environment() if encrypt else None
    if encrypt and (codec is None or not codec.seals):
        message = f"--encrypt needs a key that seals in {codecs.KEYS_VARIABLE}"
        raise InvalidInput(message, field="encrypt")
    made = opening.ask_store(store, lambda engine: _take(engine, url, name, codec))
    _tell(made, "backed up", as_json=as_json)


def restore(
    url: PlaceArgument,
    *,
    name: NameOption = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", help="From append-only files, as of this time: 15m, 2026-01-31T12:00."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Remove what the store has.")] = False,
    unsealed: Annotated[
        bool, typer.Option("--unsealed", help="With keys, accept a backup without a seal.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a backup into an empty store: the last one, or the one with --name.

    Stop all processes of the store first. With --at, the URL is the folder of an embedded store, or
    one with the append-only files of a server, and the store is embedded in a new folder.
    """
    text = opening.near(store, create=True)
    moment = inputs.moment("at", at)
    if moment is not None:
        if name or force or unsealed:
            message = "--at takes neither --name nor --force nor --unsealed"
            raise InvalidInput(message, field="at")
        _restore_at(url, text, moment, as_json=as_json)
        return
    made = asyncio.run(_restore(text, url, name, force=force, unsealed=unsealed))
    _tell(made, "restored", as_json=as_json)


def objects_at(url: str) -> ObjectStore:
    """Return where backups are; its requests carry whole parts, also over slow lines."""
    from holdfast.fencing import urls

    return urls.parse(url, request_timeout_s=_REQUEST_TIMEOUT_S)


async def _take(engine: Engine, url: str, name: str | None, codec: codecs.Codec | None) -> Manifest:
    from holdfast.backup import take

    objects = objects_at(url)
    with _progress() as advance:
        return await take(engine.store, objects, name=name, codec=codec, advance=advance)


async def _restore(
    text: str, url: str, name: str | None, *, force: bool, unsealed: bool
) -> Manifest:
    from holdfast.backup import latest, restore
    from holdfast.store.store import connected

    objects = objects_at(url)
    chosen = name or await latest(objects)
    with _progress() as advance:
        async with connected(opening.parse_store(text), opening.store_settings()) as (
            client,
            target,
        ):
            codec = codecs.of_environment()
            return await restore(
                client,
                target,
                objects,
                chosen,
                codec=codec,
                force=force,
                unsealed=unsealed,
                advance=advance,
            )


def _restore_at(url: str, text: str, moment: datetime, *, as_json: bool) -> None:
    from holdfast.backup import restore_at

    target = opening.parse_store(text).path
    if target is None:
        message = "--at restores into an embedded store: take a backup of it to move it elsewhere"
        raise InvalidInput(message, field="store")
    made = restore_at(Path(url.removeprefix("file://")), target, moment)
    said = f"restored as of {times.stamp(made.at)}, last change at {times.stamp(made.last_at)}"
    output.answer(made, f"{said}, {made.bytes:,} bytes", as_json=as_json)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """Show how far each step is."""
    with contextlib.ExitStack() as stack:
        bars: dict[str, Callable[[int], None]] = {}

        def advance(what: str, done: int) -> None:
            if what not in bars:
                bars[what] = stack.enter_context(output.progress(what, None))
            bars[what](done)

        yield advance


def _tell(made: Manifest, what: str, *, as_json: bool) -> None:
    counted = ", ".join(
        output.count(number, noun.removesuffix("s")) for noun, number in made.counts.items()
    )
    size = sum(part.bytes for part in made.parts)
    text = f"{what} {made.name}: {output.count(made.keys, 'key')}, {size:,} bytes"
    output.answer(made, f"{text} ({counted})" if counted else text, as_json=as_json)
