"""A pack at the other end of a chat: what answers its calls, and the test made from it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.terminal import output
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.host.flows.runners import Invocation, Runners
    from holdfast.host.loading import LoadedPack
    from holdfast.host.packs import Bundle
    from holdfast.host.simulator.fakes import Answer, Call, Fakes
    from holdfast.host.simulator.recording import Recorder
    from holdfast.worker.app import App

_ARCHIVE = ".hfpack"


class PackChat:
    """A conversation of a pack, with what it needs to run here."""

    def __init__(
        self,
        app: App,
        pack: LoadedPack,
        flow: str | None,
        *,
        calls: _Calls,
        recorder: Recorder,
        file: Path | None,
    ) -> None:
        self.app = app
        self._calls = calls
        #: The name of the conversation, and of its flow.
        self.name: str = pack.conversation(flow).name
        self.flow: str = self.name.partition(":")[2]
        self._recorder = recorder
        self._record = file

    def answering(self, engine: Engine) -> contextlib.AbstractAsyncContextManager[None]:
        """Let calls reach components, models and web servers while the block runs."""
        return self._calls.answering(engine)

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
    target: str,
    flow: str | None,
    *,
    fakes: str | None,
    record: str | None,
    allow_private: Sequence[str],
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
    calls = _Calls(bundle, _read_fakes(fakes), allow_private)
    pack = declare_pack(app, bundle, recorder.runners(runners(calls.ask, calls.runners())))
    file = None if record is None else Path(record)
    return PackChat(app, pack, flow, calls=calls, recorder=recorder, file=file)


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


class _Calls:
    """What answers the calls of a pack: fakes, then what the calls name.

    The runners are declared before the store is open, and exist while it is.
    """

    def __init__(self, bundle: Bundle, fakes: Fakes, allow_private: Iterable[str]) -> None:
        self._bundle = bundle
        self._fakes = fakes
        self._allow_private = tuple(allow_private)
        self._real: Runners | None = None

    @contextlib.asynccontextmanager
    async def answering(self, engine: Engine) -> AsyncIterator[None]:
        """Open the runners on a store. A server has none: there, only fakes answer."""
        from holdfast.engine.engine import Engine as NearEngine
        from holdfast.host.opening import open_runners

        if not isinstance(engine, NearEngine):
            yield
            return
        # The person who talks to a pack here could also run its Python files.
        opened = open_runners(self._bundle, engine, allow_private=self._allow_private, trusted=True)
        async with opened as self._real:
            yield

    async def ask(self, call: Call) -> Answer | None:
        """Answer a call with a fake, if there is one."""
        answer = await self._fakes.ask(call)
        if answer is None and self._real is None:
            output.note(f"no fake answers {call}; give a test file with --fakes, or a --store")
        return answer

    def runners(self) -> Runners:
        """Return runners that use the real ones as soon as they exist."""
        from holdfast.host.flows.runners import Runners

        return Runners(
            call=self._late("call"),
            http=self._late("http"),
            llm=self._late("llm"),
            provider=self._late("provider"),
            state=self._state,
        )

    def _late(self, kind: str) -> Any:
        from holdfast.host.flows.runners import NodeFailed
        from holdfast.host.simulator.fakes import NOT_FAKED

        async def run(call: Any) -> Any:
            if self._real is None:
                raise NodeFailed(NOT_FAKED, f"nothing answers this {kind}")
            return await getattr(self._real, kind)(call)

        return run

    async def _state(self, about: Invocation, names: Sequence[str]) -> Mapping[str, Any]:
        if self._real is None or self._real.state is None:
            return {}
        return await self._real.state(about, names)
