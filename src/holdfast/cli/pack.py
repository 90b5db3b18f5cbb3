"""`holdfast pack`: packs of flows: new, lint, test, build, keygen, sign, verify, show."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import pack_files, pack_testing
from holdfast.cli.terminal import output
from holdfast.cli.terminal.groups import Verbs
from holdfast.cli.terminal.options import JsonOption
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.host.packs import Pack, PublicKey, Verdict

app: typer.Typer = typer.Typer(cls=Verbs)

_FolderArgument = Annotated[str, typer.Argument(metavar="DIR", help="The folder of the pack.")]
_ArchiveArgument = Annotated[str, typer.Argument(metavar="FILE", help="The archive of the pack.")]
_PackArgument = Annotated[
    str, typer.Argument(metavar="PACK", help="The archive of a pack, or its folder.")
]
_KeyOption = Annotated[
    str | None,
    typer.Option("--key", metavar="FILE", help="Sign with this private key."),
]
_TrustOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="KEY",
        help="A public key that is trusted: ed25519:..., or a file with one. Repeatable.",
    ),
]


@app.command()
def new(
    folder: _FolderArgument,
    *,
    pack_id: Annotated[
        str | None,
        typer.Option("--id", help="The id of the pack.", show_default="the name of the folder"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a small pack to begin with; its files name the schemas that editors check."""
    from holdfast.host.packs import starting

    path = Path(folder)
    chosen = pack_id if pack_id is not None else path.resolve().name
    starting.write(path, starting.files(chosen, folder))
    output.answer(
        {"id": chosen, "folder": folder},
        f"made the pack {chosen} in {folder}; build it with `holdfast pack build {folder}`",
        as_json=as_json,
    )


@app.command()
def lint(
    folder: _FolderArgument,
    *,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print SARIF, which CI systems show beside the code.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Report what is wrong in a pack and its flows. Exits with 1 if there are errors."""
    from importlib.metadata import version

    from holdfast.host import linting
    from holdfast.host.flows import render

    if sarif and as_json:
        raise InvalidInput("sarif: give --sarif or --json, not both", field="sarif")
    with pack_files.work(f"checking {folder}", as_json=as_json):
        report = linting.lint_folder(Path(folder))
    if sarif:
        text = render.as_sarif(report.problems, version("holdfast"), linting.ALL_CODES)
        output.say(text.removesuffix("\n"))
    elif as_json:
        output.emit({"problems": [render.as_object(problem) for problem in report.problems]})
    else:
        output.say(render.as_lines(report.problems, report.sources).removesuffix("\n"))
    if not report.is_valid:
        raise typer.Exit(1)


app.command("test")(pack_testing.play)


@app.command()
def build(
    folder: _FolderArgument,
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The archive.", show_default="ID-VERSION.hfpack"
        ),
    ] = None,
    key: _KeyOption = None,
    no_lint: Annotated[
        bool, typer.Option("--no-lint", help="Build a pack whose flows or tests have errors.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a pack and write its archive; prints the digest. The same files, the same bytes."""
    from holdfast.host import packs

    signing = None if key is None else packs.PrivateKey.read(Path(key))
    with pack_files.work(f"building {folder}", as_json=as_json):
        pack = packs.load_folder(Path(folder))
        if not no_lint:
            pack_files.refuse_problems(pack.files, as_json=as_json)
        data = packs.build(pack)
        if signing is not None:
            data = packs.sign(data, signing)
        target = Path(out) if out is not None else Path(pack.file_name)
        _write(target, data)
    if as_json:
        output.emit({**_summary(pack), "file": str(target), "bytes": len(data)})
        return
    signed = "" if signing is None else f", signed by {signing.public}"
    files = output.count(len(pack.files), "file")
    output.note(f"wrote {target} ({files}, {len(data):,} bytes{signed})")
    output.say(pack.digest)


@app.command()
def keygen(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The private key; the public one goes to FILE.pub."),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Make a key that signs packs; prints the public key, which envs trust."""
    from holdfast.host.packs import PrivateKey

    key = PrivateKey.generate()
    public = key.write(Path(file))
    if as_json:
        output.emit({"public": str(key.public), "private_file": file, "public_file": str(public)})
        return
    output.note(f"wrote {file} (keep it secret) and {public}")
    output.say(str(key.public))


@app.command()
def sign(
    file: _ArchiveArgument,
    *,
    key: Annotated[str, typer.Option("--key", metavar="FILE", help="The private key.")],
    out: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where it goes.", show_default="the same file"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Add a signature to an archive; its digest stays the same."""
    from holdfast.host import packs

    signing = packs.PrivateKey.read(Path(key))
    with pack_files.work(f"signing {file}", as_json=as_json):
        data = packs.sign(packs.read_archive_file(Path(file)), signing)
        pack = packs.load_archive(data, packs.Trust(keys=frozenset({signing.public})))
        target = Path(file if out is None else out)
        _write(target, data)
    output.answer(
        {**_summary(pack), "file": str(target)},
        f"signed {pack.id} {pack.version} in {target} with {signing.public}",
        as_json=as_json,
    )


@app.command()
def verify(
    file: _ArchiveArgument,
    *,
    trust: _TrustOption = None,
    allow_unsigned: Annotated[
        bool,
        typer.Option("--allow-unsigned", help="Accept a pack that no trusted key has signed."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check an archive: its form, every digest, and that a trusted key has signed it."""
    from holdfast.host import packs

    keys = frozenset(_public_key(text) for text in trust or ())
    root = packs.Trust(keys=keys, unsigned=allow_unsigned)
    with pack_files.work(f"checking {file}", as_json=as_json):
        pack = packs.load_archive(packs.read_archive_file(Path(file)), root, quiet=True)
    words = f"{pack.id} {pack.version} is intact and {_origin(pack.verdict)}"
    output.answer(_summary(pack), f"{words}\n{pack.digest}", as_json=as_json)


@app.command()
def show(
    pack: _PackArgument,
    *,
    trust: _TrustOption = None,
    flow: Annotated[
        str | None,
        typer.Option("--flow", metavar="ID", help="The flow of a picture.", show_default="entry"),
    ] = None,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Write a picture of a flow.")
    ] = None,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a flow as a Mermaid flowchart.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a pack has, what it may use, and who signed it. Nothing of it runs."""
    from holdfast.host import packs

    keys = frozenset(_public_key(text) for text in trust or ())
    with pack_files.work(f"reading {pack}", as_json=as_json):
        found = packs.load(Path(pack), packs.Trust(keys=keys, unsigned=True), quiet=True)
    if flow is not None or svg is not None or mermaid:
        _draw(found, flow, svg, mermaid=mermaid)
        return
    listed = [
        {"file": name, "bytes": size, "digest": digest}
        for name, (digest, size) in found.manifest.files.items()
    ]
    about = found.definition.shown()
    if as_json:
        output.emit({**_summary(found), **about, "files": listed})
        return
    output.show_table(("field", "value"), _rows(found, about), nothing="")
    output.say("")
    rows = [tuple(entry.values()) for entry in listed]
    output.show_table(("file", "bytes", "digest"), rows, nothing="no files")


def _draw(pack: Pack, flow: str | None, svg: str | None, *, mermaid: bool) -> None:
    """Draw a flow, which may have errors, as long as it can be read."""
    from holdfast.host.flows import parser, picture, problems
    from holdfast.host.flows import svg as drawing
    from holdfast.host.flows.lint import refuse

    if (svg is None) != mermaid:
        message = "flow: give --svg FILE or --mermaid, to say what kind of picture it is"
        raise InvalidInput(message, field="flow")
    chosen = flow or pack.definition.entry
    file = pack.definition.flows.get(chosen or "")
    if file is None:
        known = ", ".join(pack.definition.flows)
        message = f"flow: the pack has no flow {chosen!r}; it has {known}"
        raise InvalidInput(message, field="flow")
    found = problems.Problems()
    drawn = parser.load_flow(pack.files[file.path], file.path, found)
    refuse(found.in_order())
    if drawn is None:
        message = f"flow: {file.path} is not a flow"
        raise InvalidInput(message, field="flow")
    if mermaid:
        output.say(picture.as_mermaid(drawn).removesuffix("\n"))
    elif svg is not None:
        _write(Path(svg), drawing.as_svg(drawn).encode())
        output.note(f"wrote {svg}")


def _rows(pack: Pack, about: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what people want to know first."""
    flows = [
        f"{flow['id']} ({flow['type']}{', internal' if flow['internal'] else ''})"
        for flow in about["flows"]
    ]
    components = [
        f"{component['name']} ({component['kind']}: {', '.join(component['operations'])})"
        for component in about["components"]
    ]
    schedules = [f"{one['flow']} at {one['cron']} {one['timezone']}" for one in about["schedules"]]
    rows = [
        ("id", pack.id),
        ("version", pack.version),
        ("digest", pack.digest),
        ("origin", _origin(pack.verdict)),
        ("entry", about["entry"] or "none"),
        ("flows", ", ".join(flows)),
        ("components", ", ".join(components)),
        ("providers", ", ".join(about["providers"])),
        ("welcome", about["welcome"] or ""),
        ("routing", _routing(about["routing"])),
        ("busy", about["busy"]),
        ("schedules", ", ".join(schedules)),
        *((name, ", ".join(about[name])) for name in ("secrets", "http_allow", "requires")),
        ("models", ", ".join(about["models"])),
    ]
    return [(name, value) for name, value in rows if value]


def _routing(about: dict[str, Any] | None) -> str:
    if about is None:
        return ""
    parts = [f"{about['rules']} rules"] if about["rules"] else []
    parts += [f"component {about['component']}"] if about["component"] else []
    return ", ".join([*parts, f"{about['budget_ms']} ms, on error {about['on_error']}"])


def _summary(pack: Pack) -> dict[str, Any]:
    """Return what every command says about a pack in JSON."""
    return {
        "id": pack.id,
        "version": pack.version,
        "digest": pack.digest,
        "origin": pack.verdict.origin.value,
        "keys": [str(key) for key in pack.verdict.keys],
    }


def _origin(verdict: Verdict) -> str:
    if not verdict.keys:
        return "UNSIGNED"
    keys = ", ".join(map(str, verdict.keys))
    return f"signed by {keys}" + ("" if verdict.origin == "trusted" else ", NOT TRUSTED")


def _public_key(text: str) -> PublicKey:
    from holdfast.host.packs import PublicKey

    if text.startswith("ed25519:"):
        return PublicKey.parse(text)
    return PublicKey.read(Path(text.removeprefix("@")))


def _write(path: Path, data: bytes) -> None:
    """Write a file at once, so that no reader gets half an archive."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # A temporary file is for its owner only; an archive is as public as other files.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        message = f"output: cannot write {path} ({error.strerror})"
        raise InvalidInput(message, field="output") from error
