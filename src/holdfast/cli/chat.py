"""`holdfast chat`: talk with a conversation of an app or a pack in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from holdfast.cli import pack_chat
from holdfast.cli.deployment_options import EnvOption
from holdfast.cli.process.loading import load_app
from holdfast.cli.terminal import output
from holdfast.cli.terminal.dialogue import YOU, Screen, Typed
from holdfast.cli.terminal.failures import INTERRUPTED
from holdfast.cli.terminal.opening import parse_store
from holdfast.cli.terminal.options import (
    AppStoreOption,
    JsonOption,
    OptionalAppTarget,
    PrivateOption,
)
from holdfast.cli.worker import configure_logging
from holdfast.errors import InvalidInput, SessionNotFound
from holdfast.model import checks
from holdfast.model.activities import NewActivity
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.session_keys import DEFAULT_ENV, SessionKey
from holdfast.model.sessions import Activity, Entry, Session, SessionState, Transcript
from holdfast.model.store_urls import is_remote
from holdfast.operate.live_session import watch

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.worker.app import App

#: Earlier lines that are shown when the user comes back.
_EARLIER = 20
_LEASE_MS = 5_000
#: As in `Conversation.send`.
MAIN = "main"


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="The conversation.", show_default="the only one of the app"
    ),
]
User = Annotated[str | None, typer.Option("--user", help="Who talks.", show_default="your login")]
Dialogue = Annotated[
    str | None,
    typer.Option(
        "--conversation", help="Tells several with the same user apart.", show_default=MAIN
    ),
]
OfTenant = Annotated[
    str | None,
    typer.Option("--tenant", help="Whose session it is.", show_default=DEFAULT_TENANT),
]

FakesOption = Annotated[
    str | None,
    typer.Option(
        "--fakes", metavar="FILE", help="Of a pack: the test file whose fakes answer its calls."
    ),
]
RecordOption = Annotated[
    str | None,
    typer.Option("--record", metavar="FILE", help="Of a pack: write a test from the chat."),
]
OfDeployment = Annotated[
    str | None,
    typer.Option("--deployment", metavar="ID", help="Talk with a deployment, not with an app."),
]


def chat(
    target: OptionalAppTarget = None,
    name: Name = None,
    *,
    deployment: OfDeployment = None,
    env: EnvOption = DEFAULT_ENV,
    user: User = None,
    conversation: Dialogue = None,
    tenant: OfTenant = None,
    fakes: FakesOption = None,
    record: RecordOption = None,
    allow_private: PrivateOption = None,
    store: AppStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Talk with a conversation of an app or a pack, or with a deployment. Ctrl-D leaves.

    A worker for an app or a pack runs here; a deployment is served by hosts and workers elsewhere.

    A number chooses a button. The session stays: the same command continues it. With --json, every
    line of the transcript is an object on a line.
    """
    configure_logging("error", as_json=as_json)
    partner = _partner(
        target, name, deployment, fakes=fakes, record=record, allow_private=allow_private or ()
    )
    app = partner.app
    app.store = store or app.store
    if not is_remote(app.store):
        parse_store(app.store)
    key = SessionKey(
        tenant=tenant or DEFAULT_TENANT,
        env=env,
        endpoint=partner.name,
        conversation=conversation or MAIN,
        user=user or _login(),
    )
    given = {"--user": user, "--conversation": conversation, "--tenant": tenant, "--store": store}
    given |= {"--fakes": fakes, "--env": None if env == DEFAULT_ENV else env}
    options = [part for option, value in given.items() if value for part in (option, value)]
    options += [part for address in allow_private or () for part in ("--allow-private", address)]
    back = shlex.join(["holdfast", "chat", *partner.words, *options])
    talk = Talk(partner, key, as_json=as_json)
    if not as_json:
        output.note(f"{partner.name}, as {key.user}. Ctrl-D leaves.")
    interrupted = asyncio.run(talk.run())
    if not as_json:
        output.note(f"left; this continues the conversation: {back}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Partner:
    """Who answers: a conversation of an app or a pack, or a deployment."""

    #: Its tasks run here; that of a deployment has none.
    app: App
    name: str
    #: The arguments that name it.
    words: tuple[str, ...]
    pack: pack_chat.PackChat | None = None
    deployment: str | None = None


def _partner(
    target: str | None,
    name: str | None,
    deployment: str | None,
    *,
    fakes: str | None,
    record: str | None,
    allow_private: Sequence[str],
) -> Partner:
    """Return who answers; raises InvalidInput."""
    if deployment is not None and target is None:
        from holdfast.worker.app import App

        checks.name("deployment", deployment)
        return Partner(App(), deployment, ("--deployment", deployment), deployment=deployment)
    if target is None or deployment is not None:
        message = "target: name an app or a pack, or a deployment with --deployment"
        raise InvalidInput(message, field="target")
    pack = pack_chat.load(target, name, fakes=fakes, record=record, allow_private=allow_private)
    if pack is not None:
        return Partner(pack.app, pack.name, (target, pack.flow), pack)
    app = load_app(target)
    chosen = _chosen(app, target, name)
    return Partner(app, chosen, (target, chosen))


def _chosen(app: App, target: str, name: str | None) -> str:
    """Return the name of the conversation; raises InvalidInput."""
    from holdfast.worker.conversation import Conversation

    known = [task.name for task in app.tasks.values() if isinstance(task, Conversation)]
    if name in known:
        return name
    listed = ", ".join(known)
    if not known:
        problem = f"{target} has no conversation: declare one with @app.conversation"
    elif name is not None:
        problem = f"{target} has no conversation {name}; it has {listed}"
    elif len(known) > 1:
        problem = f"{target} has several conversations, choose one: {listed}"
    else:
        return known[0]
    raise InvalidInput(f"name: {problem}", field="name")


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return YOU


@dataclass(slots=True)
class _Standing:
    """How far the conversation is, as far as it was shown."""

    session: Session | None = None
    #: The message that the user sent last.
    sent: int = 0

    @property
    def is_answered(self) -> bool:
        """Whether the turn of the last message is over."""
        session = self.session
        if session is None or session.last < self.sent:
            return not self.sent
        return session.state is not SessionState.RUNNING and not session.buffered


class Talk:
    """One user at a terminal, and the conversation that answers."""

    def __init__(
        self,
        partner: Partner,
        key: SessionKey,
        *,
        as_json: bool,
    ) -> None:
        self._partner = partner
        self._app = partner.app
        self._pack = partner.pack
        self._key = key
        self._as_json = as_json
        self._screen = Screen(partner.name, is_terminal=sys.stdin.isatty() and not as_json)
        self._standing = _Standing()
        self._moved = asyncio.Event()
        self._leaving = asyncio.Event()

    async def run(self) -> bool:
        """Talk until the user leaves; returns whether that was by Ctrl-C."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._leaving.set)
        async with self._app, self._answering(), _working(self._app) as engine:
            talking = asyncio.ensure_future(self._talk(engine))
            leaving = asyncio.ensure_future(self._leaving.wait())
            try:
                await asyncio.wait({talking, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if talking.done():
                    talking.result()
            finally:
                for task in (talking, leaving):
                    task.cancel()
                await asyncio.gather(talking, leaving, return_exceptions=True)
                if self._pack is not None:
                    await self._pack.finish(engine, self._key.id)
        if sys.stdin.isatty() and not self._as_json:
            output.say("")
        return self._leaving.is_set()

    def _answering(self) -> contextlib.AbstractAsyncContextManager[None]:
        if self._pack is None:
            return contextlib.nullcontext()
        return self._pack.answering(self._app.engine)

    async def _talk(self, engine: Engine) -> None:
        shown = await self._show_earlier(engine)
        if self._pack is not None:
            self._pack.begin(shown)
        typed = Typed()
        watching: asyncio.Future[None] | None = None
        try:
            if self._standing.session is not None:
                watching = asyncio.ensure_future(self._watch(engine, shown))
            while True:
                await self._answered(watching)
                self._remark()
                self._screen.prompt()
                line = await typed.next()
                if line is None:
                    return
                if not line.strip():
                    continue
                await self._send(engine, line)
                if watching is None:
                    watching = asyncio.ensure_future(self._watch(engine, shown))
        finally:
            typed.close()
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)

    async def _show_earlier(self, engine: Engine) -> int:
        """Write the end of the transcript, if there is one; returns the number of its last line."""
        sessions = engine.sessions
        try:
            session = await sessions.get(self._key.id)
        except SessionNotFound:
            return 0
        self._standing.session = session
        after = max(session.last - _EARLIER, 0)
        found = await sessions.transcript(session.id, after=after, limit=_EARLIER)
        shown = after
        for entry in found.entries:
            if entry.open:
                break
            self._show(entry)
            shown = entry.number
        return shown

    async def _send(self, engine: Engine, line: str) -> None:
        payload = {"text": line} if self._as_json else self._screen.typed(line)
        data = msgspec.json.encode(payload)
        key, partner = self._key, self._partner
        if partner.deployment is None:
            delivered = await engine.sessions.deliver(partner.name, Activity(key=key, payload=data))
            self._standing.sent = delivered.number
            return
        activity = NewActivity(
            env=key.env,
            tenant=key.tenant,
            conversation=key.conversation,
            user=key.user,
            payload=data,
        )
        await engine.activities.handle(activity, deployment=partner.deployment, wait_ms=0)
        # Nobody else writes to this session, so its last line is not before the message.
        self._standing.sent = (await engine.sessions.get(key.id)).last

    async def _watch(self, engine: Engine, after: int) -> None:
        """Write what happens, as it happens."""
        async with contextlib.aclosing(watch(engine, self._key.id, after=after)) as news:
            async for found in news:
                if isinstance(found, Transcript):
                    self._take(found)
                elif not self._as_json:
                    self._screen.show_part(found)

    def _take(self, found: Transcript) -> None:
        for entry in found.entries:
            # The terminal shows what the user types.
            if self._as_json or entry.direction == "out":
                self._show(entry)
        if not found.more:
            self._standing.session = found.session
        self._moved.set()

    def _show(self, entry: Entry) -> None:
        if self._as_json:
            output.emit(as_value(entry))
        else:
            self._screen.show(entry)

    async def _answered(self, watching: asyncio.Future[None] | None) -> None:
        """Wait until the turn of the last message is over."""
        while watching is not None and not self._standing.is_answered:
            self._moved.clear()
            moved: asyncio.Future[Any] = asyncio.ensure_future(self._moved.wait())
            try:
                await asyncio.wait({moved, watching}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                moved.cancel()
            if watching.done():
                watching.result()

    def _remark(self) -> None:
        """Say what the conversation does, where that is not the next message."""
        session = self._standing.session
        if self._as_json or session is None:
            return
        if session.state is SessionState.IDLE and session.last:
            self._screen.note("the conversation has ended; your next message starts again")
        elif session.state is SessionState.SUSPENDED:
            self._screen.note(f"it waits: holdfast explain {session.execution}")
        elif session.state is SessionState.PERSON:
            self._screen.note(f"{session.person} answers")


def as_value(entry: Entry) -> dict[str, object]:
    """Return a line of a transcript as JSON holds it."""
    return {
        "number": entry.number,
        "at": entry.at,
        "direction": entry.direction,
        "text": entry.text,
        "payload": output.payload(entry.payload),
        "execution": entry.execution,
        "author": entry.author,
        "delivery": entry.delivery,
        "receipt": entry.receipt,
    }


@contextlib.asynccontextmanager
async def _working(app: App) -> AsyncIterator[Engine]:
    """Run a worker for the app while the block runs."""
    from holdfast.worker.worker import Worker, WorkerSettings

    if not app.tasks:
        yield app.engine
        return
    worker = Worker(app, WorkerSettings(lease_ms=_LEASE_MS))
    running = asyncio.ensure_future(worker.run())
    try:
        await worker.wait_started(running)
        yield app.engine
    finally:
        worker.release()
        await asyncio.gather(running, return_exceptions=True)
