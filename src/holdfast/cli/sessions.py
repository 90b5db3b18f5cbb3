"""`holdfast sessions`: conversations with users, and their transcripts."""

from __future__ import annotations

import contextlib
import getpass
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import msgspec
import typer

from holdfast.cli.chat import as_value
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.dialogue import lines_of
from holdfast.cli.terminal.failures import one_line
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, Reason, StoreOption
from holdfast.errors import InvalidInput
from holdfast.model.sessions import Entry, Session, SessionState, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.api import Engine
    from holdfast.model.files import File
    from holdfast.model.sessions import SessionPage

app: typer.Typer = typer.Typer(
    cls=Noun, help="Sessions: list, show, transcript, file, say, hand over, end, resend, erase."
)

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The id of the session.")]
_PAGE = 500
#: Lines that `show` has of a transcript.
_LAST_LINES = 10


@app.command()
def ls(
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="Only of this user.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Continue where a page ended.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the most recently active first."""

    async def work(engine: Engine) -> SessionPage:
        return await engine.sessions.list(tenant=tenant, user=user, limit=limit, cursor=cursor)

    page = opening.ask(store, work)
    if as_json:
        output.emit({"items": [_value(one) for one in page.items], "next_cursor": page.next_cursor})
        return
    columns = ("session", "kind", "user", "conversation", "tenant", "state", "active", "lines")
    rows = [
        (
            one.id,
            one.kind,
            one.key.user,
            one.key.conversation,
            one.key.tenant,
            one.state,
            times.ago(one.active_at),
            one.last,
        )
        for one in page.items
    ]
    output.show_table(columns, rows, nothing="no sessions")
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


@app.command()
def show(session_id: SessionId, *, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show a session: what it does, its state, and the last lines of its transcript."""

    async def work(engine: Engine) -> tuple[Transcript, dict[str, object]]:
        found = await engine.sessions.latest(session_id, limit=_LAST_LINES)
        values = await engine.sessions.state(session_id)
        return found, {name: output.payload(one.value) for name, one in values}

    found, values = opening.ask(store, work)
    if as_json:
        lines = [as_value(entry) for entry in found.entries]
        output.emit({**_value(found.session), "values": values, "transcript": lines})
        return
    for name, fact in _facts(found.session):
        output.say(f"{name:<14}{fact}")
    if values:
        output.say("\nState")
        rows = [(name, msgspec.json.encode(value).decode()) for name, value in values.items()]
        output.show_table(("name", "value"), rows, nothing="")
    output.say("\nTranscript")
    if found.entries and found.entries[0].number > 1:
        output.say(f"... earlier: holdfast sessions transcript {session_id}")
    for entry in found.entries:
        _print(found.session, entry)


def _facts(session: Session) -> Iterator[tuple[str, str]]:
    key = session.key
    yield "session", session.id
    yield "kind", f"{session.kind}   tenant {key.tenant}   env {key.env}"
    yield "user", one_line(key.user)
    yield "conversation", f"{one_line(key.conversation)}   endpoint {key.endpoint}"
    yield "state", _standing(session)
    if session.execution is not None:
        yield "execution", f"{session.execution} ({session.execution_state})"
    yield "created", f"{times.stamp(session.created_at)} ({times.ago(session.created_at)})"
    yield "active", f"{times.stamp(session.active_at)} ({times.ago(session.active_at)})"
    yield "lines", str(session.last)
    if session.buffered:
        yield "buffered", output.count(session.buffered, "message")


def _standing(session: Session) -> str:
    """Return what a session does, in words."""
    since = "" if session.since is None else f" since {times.stamp(session.since)}"
    reason = "" if session.handover_reason is None else f": {one_line(session.handover_reason)}"
    return {
        SessionState.IDLE: "idle: the next message starts the conversation",
        SessionState.RUNNING: "running: a turn is under way",
        SessionState.WAITING: f"waiting for a message{since}",
        SessionState.SUSPENDED: f"suspended: holdfast explain {session.execution}",
        SessionState.PERSON: f"{session.person} answers{since}{reason}",
    }[session.state]


@app.command()
def transcript(
    session_id: SessionId,
    *,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="NUMBER", help="Begin after this line.")
    ] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with what happens, until Ctrl-C.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a transcript: a line each; with --json an object each."""

    def write(found: Transcript) -> None:
        for entry in found.entries:
            if as_json:
                output.emit(as_value(entry))
            else:
                _print(found.session, entry)

    read = _follow if follow else _read
    opening.ask(store, lambda engine: read(engine, session_id, after, write), maintenance=follow)


async def _read(
    engine: Engine, session_id: str, after: int, write: Callable[[Transcript], None]
) -> None:
    while True:
        found = await engine.sessions.transcript(session_id, after=after, limit=_PAGE)
        write(found)
        if not found.more:
            return
        after = found.entries[-1].number


async def _follow(
    engine: Engine, session_id: str, after: int, write: Callable[[Transcript], None]
) -> None:
    lines = engine.sessions.follow(session_id, after=after)
    async with contextlib.aclosing(lines):  # type: ignore[type-var]
        async for found in lines:
            write(found)


def _print(session: Session, entry: Entry) -> None:
    if entry.direction == "note":
        speaker = "note"
    elif entry.direction == "in":
        speaker = one_line(session.key.user)
    else:
        speaker = session.kind if entry.author is None else f"{one_line(entry.author)} (a person)"
    state = entry.delivery if entry.delivery in {"pending", "dead"} else entry.receipt
    mark = f" [{state}]" if state else ""
    first, *rest = lines_of(entry, speaker)
    output.say(f"{entry.number:>5}  {times.stamp(entry.at)}  {first}{mark}")
    for line in rest:
        output.say(f"{'':<7}{line}")


@app.command()
def file(
    session_id: SessionId,
    file_id: Annotated[str, typer.Argument(metavar="FILE", help="The id in the transcript.")],
    target: Annotated[
        Path | None,
        typer.Argument(metavar="[PATH]", help="Where to write it.", show_default="its name"),
    ] = None,
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Save a file that the user sent. An existing file is not replaced."""

    async def work(engine: Engine) -> tuple[File, Path]:
        found = await engine.files.get(session_id, file_id)
        path = target or Path(found.name)
        with _new(path) as out:
            async for part in engine.files.read(session_id, file_id):
                out.write(part)
        return found, path

    found, path = opening.ask(store, work)
    saved = {**found.reference(), "path": str(path)}
    output.answer(saved, f"saved {path} ({found.type}, {found.size} bytes)", as_json=as_json)


@contextlib.contextmanager
def _new(path: Path) -> Iterator[BinaryIO]:
    """Write a file that must not exist; what fails leaves none."""
    try:
        out = path.open("xb")
    except OSError as error:
        raise InvalidInput(f"path: {error}", field="path") from None
    try:
        with out:
            yield out
    except BaseException:
        path.unlink()
        raise


@app.command()
def say(
    session_id: SessionId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say to the user.")],
    *,
    author: Annotated[
        str | None, typer.Option("--author", help="Who speaks.", show_default="your login")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Said again with the same key, it is said once.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say something to the user as a person; the conversation does not receive it."""
    if not text.strip():
        raise InvalidInput("text: must not be empty", field="text")

    async def work(engine: Engine) -> Entry:
        payload = msgspec.json.encode({"text": text})
        return await engine.sessions.say(session_id, payload, author=author or _login(), key=key)

    entry = opening.ask(store, work)
    output.answer(as_value(entry), f"said: line {entry.number}", as_json=as_json)


@app.command()
def handover(
    session_id: SessionId,
    person: Annotated[
        str | None,
        typer.Argument(metavar="[PERSON]", help="Who answers from now on.", show_default="you"),
    ] = None,
    *,
    back: Annotated[
        bool, typer.Option("--back", help="Give the session back to its conversation.")
    ] = False,
    reason: Reason = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hand a session over to a person, or with --back give it back to its conversation."""
    if back and person is not None:
        raise InvalidInput("handover: give a PERSON, or --back", field="back")
    to = None if back else person or _login()
    session = opening.ask(
        store, lambda engine: engine.sessions.handover(session_id, to, reason=reason)
    )
    who = "the conversation" if to is None else to
    output.answer(_value(session), f"{who} answers {session_id}", as_json=as_json)


@app.command()
def end(
    session_id: SessionId,
    *,
    reason: Reason = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel what runs or waits, and drop buffered messages; the next message starts again."""
    session = opening.ask(store, lambda engine: engine.sessions.end(session_id, reason=reason))
    output.answer(_value(session), f"ended the conversation of {session_id}", as_json=as_json)


@app.command()
def resend(
    session_id: SessionId,
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="The dead reply.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a reply once more that its sender gave up on."""
    opening.ask(store, lambda engine: engine.sessions.resend(session_id, number))
    done = {"session": session_id, "number": number, "delivery": "pending"}
    output.answer(done, f"reply {number} is on its way again", as_json=as_json)


@app.command()
def erase(
    session_id: SessionId,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a session, its transcript, executions and files for ever."""
    if not yes and not (sys.stdin.isatty() and typer.confirm(f"erase {session_id} for ever?")):
        raise InvalidInput("erase: say --yes to erase a session for ever", field="yes")
    opening.ask(store, lambda engine: engine.sessions.erase(session_id))
    output.answer({"id": session_id, "erased": True}, f"erased {session_id}", as_json=as_json)


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "operator"


def _value(session: Session) -> dict[str, object]:
    """Return a session as JSON holds it."""
    fields = {name: getattr(session, name) for name in session.__dataclass_fields__}
    key = fields.pop("key")
    parts = {name: getattr(key, name) for name in key.__dataclass_fields__}
    return {"id": fields.pop("id"), **parts, **fields}
