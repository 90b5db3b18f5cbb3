"""`holdfast archive`: the archive of ended executions: enable, run, export, verify, erase."""

from __future__ import annotations

import asyncio
import getpass
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.archive import Archiver, forget_archive, set_archive, unset_archive
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


app: typer.Typer = typer.Typer(cls=_Archive)

WaitOption = Annotated[
    str, typer.Option("--wait", help="How long to wait for another archiver to finish.")
]


@app.command()
def status(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show where the archive is, what it holds, and how many executions wait for it."""
    survey = opening.ask(store, lambda engine: engine.archive.survey())
    if as_json:
        output.emit(survey)
        return
    archive = survey.archive
    if archive is None:
        output.say(
            "no archive: retention deletes ended executions; `holdfast archive enable URL` sets one"
        )
        return
    committed = archive.committed_at_ms
    facts = {
        "archive": survey.url,
        "waiting": output.count(survey.waiting, "execution"),
        "holds": f"{output.count(archive.executions, 'execution')} in "
        f"{output.count(archive.segments, 'segment')}",
        "bytes": f"{archive.bytes:,}",
        "days": f"{archive.first_day} to {archive.last_day}" if archive.first_day else "",
        "commit": f"{archive.sequence}, token {archive.token}, {times.ago(from_ms(committed))}"
        if committed
        else "none yet",
    }
    for name, value in facts.items():
        output.say(f"{name:<12}{value}")
    if archive.tenants:
        output.say("")
        output.show_table(("tenant", "executions"), list(archive.tenants.items()), nothing="")


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
            help="Store inputs and results larger than this in the archive from the start.",
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep ended executions until `holdfast archive run` has moved them to the archive."""

    async def work(engine: NearEngine) -> None:
        await set_archive(engine.store, url, offload_bytes=offload)

    opening.ask_store(store, work, create=True)
    _say(f"the archive is {url}; a process must run `holdfast archive run`", as_json, url=url)


@app.command()
def disable(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Stop archiving. Retention then deletes ended executions, including those that wait now."""

    async def work(engine: NearEngine) -> None:
        await unset_archive(engine.store)

    opening.ask_store(store, work)
    _say("no archive: retention deletes ended executions", as_json, url=None)


@app.command()
def forget(
    url: Annotated[str, typer.Argument(metavar="URL", help="Of an archive before this one.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop looking for payloads and files in a former archive, such as one that was deleted."""
    if not yes and not (sys.stdin.isatty() and typer.confirm(f"never read {url} again?")):
        message = "forget: what is only there cannot be read any more; confirm with --yes"
        raise InvalidInput(message, field="yes")

    async def work(engine: NearEngine) -> None:
        await forget_archive(engine.store, url)

    opening.ask_store(store, work)
    _say(f"forgot {url}", as_json, forgot=url)


@app.command()
def run(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Archive the executions that wait now, then stop.")
    ] = False,
    wait: WaitOption = "0s",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move executions to the archive until stopped. Any number of processes can stand by."""
    wait_s = inputs.duration_ms("wait", wait) / 1000

    async def work(engine: NearEngine) -> Report | None:
        archiver = Archiver(engine.store, (await engine.archive.open()).objects)
        if once:
            return await archiver.run_once(wait_s=wait_s)
        # On cancellation it releases the writer lease, so that the next archiver does not wait.
        running = asyncio.ensure_future(archiver.run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        output.note("archiving; press Ctrl-C to stop")
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
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write; - is stdout.")
    ] = "-",
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write an ended execution, from the store or the archive, to a file."""

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
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file that `archive export` wrote.")
    ],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore an ended execution to the store, so that it can be replayed."""
    exported = exports.from_json(inputs.payload("-" if file == "-" else f"@{file}", raw=True))

    async def work(engine: NearEngine) -> str:

        archived_already = await archived.is_archived(engine, exported)
        return await engine.store.archives.restore(exported, archived=archived_already)

    state = opening.ask_store(store, work, create=True)
    _say(f"{exported.id} is {state} in the store", as_json, id=exported.id, state=state)


@app.command()
def parquet(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    *,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only executions of this tenant.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Created at or after this time: 30d, 2026-01-31.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Created before this time.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write archived executions as a Parquet file, for other tools. Needs `holdfast[parquet]`."""
    query = Filter(
        tenant=tenant, since=inputs.moment("since", since), until=inputs.moment("until", until)
    )

    async def work(engine: Engine) -> int:
        from holdfast.archive.parquet import write_parquet

        return await write_parquet(engine.archive, file, query)

    count = opening.ask(store, work)
    written = output.count(count, "execution")
    _say(f"wrote {written} to {file}", as_json, executions=count, file=str(file))


@app.command()
def verify(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Check the whole archive: digests, rows, duplicates. Exits with 1 if there are problems."""

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
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    reason: Reason = "",
    by: Annotated[
        str | None,
        typer.Option("--by", help="Who requests the erasure.", show_default="your user name"),
    ] = None,
    wait: WaitOption = "2m",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase a tenant from the archive, and its sessions from the store.

    The audit log of the archive keeps the proof.
    """
    if not yes and not (sys.stdin.isatty() and typer.confirm(f"erase {tenant} permanently?")):
        raise InvalidInput("erase: cannot be undone; confirm with --yes", field="yes")
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
