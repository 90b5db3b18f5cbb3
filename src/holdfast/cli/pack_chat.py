"""A pack at the other end of a chat: its fakes, and the test that is written from the chat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.terminal import output
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.host.loading import LoadedPack
    from holdfast.host.simulator.fakes import Answer, Call, Fakes
    from holdfast.host.simulator.recording import Recorder
    from holdfast.worker.app import App

_ARCHIVE = ".hfpack"


class PackChat:
    """A conversation of a pack, with what it needs to run here."""

    def __init__(
        self, app: App, pack: LoadedPack, flow: str | None, recorder: Recorder, file: Path | None
    ) -> None:
        self.app = app
        #: The name of the conversation, and of its flow.
        self.name: str = pack.conversation(flow).name
        self.flow: str = self.name.partition(":")[2]
        self._recorder = recorder
        self._record = file

    def begin(self, lines: int) -> None:
        """Refuse to record a conversation that has begun before."""
        if self._record is not None and lines:
            self._record = None
            message = "record: a test begins with a new conversation; choose a new --conversation"
            raise InvalidInput(message, field="record")

    async def finish(self, engine: Engine, session: str) -> None:
        """Write the test, if one is wanted."""
        if self._record is None:
            return
        text = await self._recorder.script(engine, session, name=self._record.stem, flow=self.flow)
        try:
            self._record.write_text(text, "utf-8")
        except OSError as error:
            message = f"record: cannot write {self._record} ({error.strerror})"
            raise InvalidInput(message, field="record") from error
        output.note(f"wrote {self._record}; play it with `holdfast pack test`")


def load(
    target: str, flow: str | None, *, fakes: str | None, record: str | None
) -> PackChat | None:
    """Load a pack to talk with; None if the target is not a pack but an app."""
    path = Path(target)
    if not path.is_dir() and path.suffix != _ARCHIVE:
        for name, value in (("fakes", fakes), ("record", record)):
            if value is not None:
                message = f"{name}: only a pack has fakes and tests, and {target} is an app"
                raise InvalidInput(message, field=name)
        return None
    from holdfast.host import packs
    from holdfast.host.loading import declare_pack
    from holdfast.host.simulator.fakes import runners
    from holdfast.host.simulator.recording import Recorder
    from holdfast.worker.app import App

    bundle = packs.bundle(packs.load(path, packs.Trust(unsigned=True), quiet=True))
    app, recorder = App(), Recorder()
    answering = runners(_Announcing(_read_fakes(fakes)).ask)
    pack = declare_pack(app, bundle, recorder.runners(answering))
    return PackChat(app, pack, flow, recorder, None if record is None else Path(record))


def _read_fakes(file: str | None) -> Fakes:
    from holdfast.host.simulator import reader
    from holdfast.host.simulator.fakes import Fakes

    if file is None:
        return Fakes()
    try:
        text = Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"fakes: cannot read {file} ({getattr(error, 'strerror', None) or error})"
        raise InvalidInput(message, field="fakes") from error
    tests = reader.read_text(text, Path(file).name)
    return Fakes(tests[0].fakes if tests else ())


class _Announcing:
    """Says which calls nothing answers."""

    def __init__(self, fakes: Fakes) -> None:
        self._fakes = fakes

    async def ask(self, call: Call) -> Answer | None:
        answer = await self._fakes.ask(call)
        if answer is None:
            output.note(f"no fake answers {call}; give a test file with --fakes")
        return answer
