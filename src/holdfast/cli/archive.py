"""`holdfast archive`: where ended executions go, and what is there."""

from __future__ import annotations

import asyncio
import getpass
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.archive import Archiver, set_archive, unset_archive
from holdfast.cli import archived
from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import ExecutionId, JsonOption, Reason, StoreOption
from holdfast.errors import InvalidInput
from holdfast.model import exports
from holdfast.model.listing import Filter
from holdfast.model.moments import from_ms

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.archive import Erasure, Report
    from holdfast.engine import Engine as NearEngine
    from holdfast.model.exports import Exported


class _Archive(Noun):
    """A group for which `holdfast archive` means `holdfast archive status`."""

    verb = "status"


app: typer.Typer = typer.Typer(
    cls=_Archive,
    help="The archive: status, enable, disable, run, export, import, parquet, verify, erase.",
)

WaitOption = Annotated[str, typer.Option("--wait", help="How long to wait for another archiver.")]


@app.command()
def status(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Say where the archive is, what is in it, and what waits for it."""
    found = opening.ask(store, lambda engine: engine.archive.survey())
    if as_json:
        output.emit(found)
        return
    known = found.archive
    if known is None:
        output.say("no archive: retention forgets; `holdfast archive enable URL` sets one")
        return
    committed = known.committed_at_ms
    facts = {
        "archive": found.url,
        "waiting": output.count(found.waiting, "execution"),
        "holds": f"{output.count(known.executions, 'execution')} in "
        f"{output.count(known.segments, 'segment')}",
        "bytes": f"{known.bytes:,}",
        "days": f"{known.first_day} to {known.last_day}" if known.first_day else "",
        "commit": f"{known.sequence}, token {known.token}, {times.ago(from_ms(committed))}"
        if committed
        else "none yet",
    }
    for name, value in facts.items():
        output.say(f"{name:<12}{value}")
    if known.tenants:
        output.say("")
        output.show_table(("tenant", "executions"), list(known.tenants.items()), nothing="")


@app.command()
def enable(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="file:///PATH, s3://BUCKET/PREFIX, gs://, az://.")
    ],
    *,
    offload: Annotated[
        int | None,
        typer.Option(
            "--offload",
            metavar="BYTES",
            help="Keep inputs and results over this size there, from the start.",
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep ended executions back until `holdfast archive run` has moved them there."""

    async def work(engine: NearEngine) -> None:
        await set_archive(engine.store, url, offload_bytes=offload)

    opening.ask_store(store, work, create=True)
    _say(f"the archive is {url}; some process must run `holdfast archive run`", as_json, url=url)


@app.command()
def disable(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Archive nothing more: retention forgets what has ended, also what waits now."""

    async def work(engine: NearEngine) -> None:
        await unset_archive(engine.store)

    opening.ask_store(store, work)
    _say("no archive: retention forgets", as_json, url=None)


@app.command()
def run(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Archive what waits now, then stop.")
    ] = False,
    wait: WaitOption = "0s",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move executions to the archive, until stopped. Any number of processes may stand by."""
    wait_s = inputs.duration_ms("wait", wait) / 1000

    async def work(engine: NearEngine) -> Report | None:
        archiver = Archiver(engine.store, (await engine.archive.open()).objects)
        if once:
            return await archiver.run_once(wait_s=wait_s)
        # Cancelled, it gives the writer lease up, so that the next one need not wait.
        running = asyncio.ensure_future(archiver.run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        output.note("archiving; Ctrl-C stops")
        await asyncio.wait([running])
        if not running.cancelled():
            running.result()
        return None

    try:
        report = opening.ask_store(store, work, maintenance=not once)
    except KeyboardInterrupt:
        raise typer.Abort from None
    if report is None:
        return
    output.answer(
        report,
        f"archived {output.count(report.archived, 'execution')}, {report.bytes:,} bytes",
        as_json=as_json,
    )


@app.command("export")
def export_one(
    execution_id: ExecutionId,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is stdout.")] = "-",
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write an execution that has ended, from the store or the archive, to a file."""

    async def work(engine: Engine) -> Exported:
        return await archived.export(engine, execution_id)

    data = opening.ask(store, work).to_json()
    if file == "-":
        sys.stdout.buffer.write(data + b"\n")
        return
    Path(file).write_bytes(data)
    _say(f"wrote {execution_id} to {file}", as_json, id=execution_id, file=file)


@app.command("import")
def import_one(
    file: Annotated[str, typer.Argument(metavar="FILE", help="As `archive export` wrote it.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring an execution back into the store as it ended, so that it can be replayed."""
    exported = exports.from_json(inputs.payload("-" if file == "-" else f"@{file}", raw=True))

    async def work(engine: NearEngine) -> str:

        known = await archived.is_archived(engine, exported)
        return await engine.store.archives.restore(exported, archived=known)

    state = opening.ask_store(store, work, create=True)
    _say(f"{exported.id} is {state} in the store", as_json, id=exported.id, state=state)


@app.command()
def parquet(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Created at or after: 30d, 2026-01-31.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Created before.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write archived executions as a Parquet file, for other tools. Needs `holdfast[parquet]`."""
    wanted = Filter(
        tenant=tenant, since=inputs.moment("since", since), until=inputs.moment("until", until)
    )

    async def work(engine: Engine) -> int:
        from holdfast.archive.parquet import write_parquet  # noqa: PLC0415 - loads the client

        return await write_parquet(engine.archive, file, wanted)

    count = opening.ask(store, work)
    written = output.count(count, "execution")
    _say(f"wrote {written} to {file}", as_json, executions=count, file=str(file))


@app.command()
def verify(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Read the whole archive: digests, rows, that nothing is there twice. Ends with 1 if not."""

    async def work(engine: NearEngine) -> tuple[int, list[str]]:

        return await (await engine.archive.open()).verify()

    count, problems = opening.ask_store(store, work)
    for problem in problems:
        output.note(problem)
    _say(
        f"{output.count(count, 'execution')}, {output.count(len(problems), 'problem')}",
        as_json,
        executions=count,
        problems=problems,
    )
    if problems:
        raise typer.Exit(1)


@app.command()
def erase(
    tenant: Annotated[str, typer.Argument(metavar="TENANT")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    reason: Reason = "",
    by: Annotated[
        str | None, typer.Option("--by", help="Who asks for it.", show_default="the user")
    ] = None,
    wait: WaitOption = "2m",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase a tenant from the archive, and its sessions from the store.

    The proof is kept in the audit log of the archive.
    """
    if not yes and not (sys.stdin.isatty() and typer.confirm(f"erase {tenant} for ever?")):
        raise InvalidInput("erase: cannot be undone; say --yes", field="yes")
    wait_s = inputs.duration_ms("wait", wait) / 1000

    async def work(engine: NearEngine) -> Erasure:
        archiver = Archiver(engine.store, (await engine.archive.open()).objects)
        who = by or getpass.getuser()
        return await archiver.erase_tenant(tenant, by=who, reason=reason, wait_s=wait_s)

    proof = opening.ask_store(store, work)
    if as_json:
        output.emit(proof)
    else:
        number = len(proof.replaced)
        erased = output.count(proof.executions, "execution")
        replaced = output.count(number, "segment")
        sessions = f" and {output.count(proof.sessions, 'session')}" if proof.sessions else ""
        output.say(f"erased {erased}{sessions} of {tenant}; {replaced} replaced")


def _say(text: str, as_json: bool, **value: object) -> None:  # noqa: FBT001 - short calls
    output.answer(value, text, as_json=as_json)
