"""`holdfast dev`: a worker in a child process that restarts when a source file changes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.cli.process import reloading
from holdfast.cli.server import ALL_ROLES, DEFAULT_LISTEN, LISTEN_VARIABLE, Listen, serve
from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.failures import INTERRUPTED, WRONG_USAGE
from holdfast.cli.terminal.options import (
    AppStoreOption,
    DevTargets,
    JsonOption,
    PrivateOption,
)
from holdfast.cli.worker import configure_logging
from holdfast.errors import InvalidInput
from holdfast.model.store_urls import is_remote
from holdfast.server.settings import ServerSettings, parse_listen

LOOK_EVERY_S = 0.3
#: How long tasks may take to finish at a reload; later they continue in the new process.
GRACE_S = 2.0
KILL_AFTER_S = 10.0
#: A worker that was killed starts again, unless it is killed again and again as it starts.
SHORTEST_LIFE_S = 1.0
PACK_FILE = "pack.yaml"
#: Short, so that a host that was killed continues soon after it is started again.
LEASE_MS = 5_000


def dev(
    targets: DevTargets = None,
    *,
    listen: Listen = None,
    slots: Annotated[int, typer.Option("--slots", help="Maximum executions to run at once.")] = 100,
    capabilities: Annotated[
        list[str] | None,
        typer.Option(
            "--capability", metavar="NAME", help="A capability of the worker; repeatable."
        ),
    ] = None,
    watch: Annotated[
        list[Path] | None,
        typer.Option(
            "--watch", help="A folder to watch; repeatable.", show_default="the working folder"
        ),
    ] = None,
    allow_private: PrivateOption = None,
    store: AppStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an app or packs for development: a store, HTTP, and what you save runs."""
    if store is not None and not is_remote(store):
        opening.parse_store(store)
    where = listen or os.environ.get(LISTEN_VARIABLE) or DEFAULT_LISTEN
    if not targets:
        host, port = parse_listen(where)
        settings = ServerSettings(host=host, port=port, dev=True)
        serve(settings, ALL_ROLES, store, log_level="warning", as_json=as_json)
        return
    app, folders = _sorted(targets)
    if app is None:
        options = {
            "slots": slots,
            "capabilities": tuple(capabilities or ()),
            "allow_private": tuple(allow_private or ()),
        }
        _host(folders, where, options, store, as_json=as_json)
        return
    command = [sys.executable, "-m", "holdfast.cli", "worker", app, "--slots", str(slots)]
    command += ["--lease", "5s", "--parent", str(os.getpid()), "--listen", where]
    command += [part for name in capabilities or () for part in ("--capability", name)]
    command += [part for folder in folders for part in ("--pack", str(folder))]
    command += [part for where in allow_private or () for part in ("--allow-private", where)]
    command += ["--json"] if as_json else []
    command += ["--store", store] if store is not None else []
    code = Supervisor(command, watch or [Path.cwd()]).run()
    if code:
        raise typer.Exit(code)


def _sorted(targets: Sequence[str]) -> tuple[str | None, list[Path]]:
    """Return the app and the folders of packs among the targets."""
    folders = [Path(text) for text in targets if (Path(text) / PACK_FILE).is_file()]
    apps = [text for text in targets if Path(text) not in folders]
    if len(apps) > 1:
        raise InvalidInput(
            f"app: only one app runs, and {apps[1]} is not the folder of a pack", field="app"
        )
    return (apps[0] if apps else None), folders


def _host(
    folders: Sequence[Path],
    listen: str,
    options: dict[str, Any],
    store: str | None,
    *,
    as_json: bool,
) -> None:
    """Host packs, and deploy each again whenever a file of it changes."""
    from holdfast.cli import host
    from holdfast.host.settings import HostSettings

    configure_logging("warning", as_json=as_json)
    # On this machine the packs are the user's own, so their Python code may run unsigned.
    settings = HostSettings(lease_ms=LEASE_MS, trusted=True, **options)
    host.serve(settings, store, as_json=as_json, listen=listen, folders=folders)


class Stopped(BaseException):
    """A signal asks the process to stop. A BaseException, so that no handler swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Supervisor:
    """Runs a command and restarts it when files change."""

    def __init__(self, command: Sequence[str], folders: Sequence[Path]) -> None:
        self._command = list(command)
        self._folders = folders
        self._child: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def run(self) -> int:
        """Run until a signal arrives; return the exit code."""
        with _raising_signals() as stop_raising:
            try:
                return self._watch()
            except Stopped as stopped:
                stop_raising(self._hurry)
                output.note("stopping; press Ctrl-C again to stop at once")
                self._wait(grace_s=None)
                return INTERRUPTED if stopped.number == signal.SIGINT else 0
            finally:
                if self._child is not None and self._child.poll() is None:
                    self._child.kill()

    def _watch(self) -> int:
        seen = reloading.times_of(self._folders)
        self._start()
        reported = False
        reloads = 0
        while True:
            time.sleep(LOOK_EVERY_S)
            now = reloading.times_of(self._folders)
            changed = reloading.changes(seen, now)
            code = self._child.poll() if self._child is not None else None
            if changed:
                seen, reported, reloads = now, False, reloads + 1
                output.note(f"reload: {_shown(changed)}")
                self._wait(grace_s=GRACE_S)
                self._start()
            elif code == -signal.SIGKILL and time.monotonic() > self._started_at + SHORTEST_LIFE_S:
                output.note("the worker was killed; starting it again")
                self._start()
            elif code is not None and not reported:
                if code == WRONG_USAGE and not reloads and not self._has_source():
                    return code
                reported = True
                output.note(f"the worker ended ({code}); it starts again when a file changes")

    def _has_source(self) -> bool:
        """Whether the app's module is a file in this folder, so that editing it may fix it."""
        module = self._command[self._command.index("worker") + 1].partition(":")[0]
        path = module.replace(".", "/")
        return Path(f"{path}.py").exists() or Path(path, "__init__.py").exists()

    def _start(self) -> None:
        # A file saved twice within a second would load from the stale bytecode of the first save.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        self._started_at = time.monotonic()
        # In its own process group: Ctrl-C reaches only this process, which signals the child.
        self._child = subprocess.Popen(self._command, env=environment, start_new_session=True)

    def _hurry(self) -> None:
        """Signal the child again: the second signal makes it stop at once."""
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)

    def _wait(self, *, grace_s: float | None) -> None:
        """Stop the child: let it finish, then make it release its work, then kill it."""
        if self._child is None or self._child.poll() is not None:
            return
        self._child.send_signal(signal.SIGTERM)
        try:
            self._child.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._hurry()
            try:
                self._child.wait(KILL_AFTER_S)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()


@contextlib.contextmanager
def _raising_signals() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Raise Stopped at SIGINT and SIGTERM; yield a function that replaces the handlers."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.getsignal(number) for number in numbers]

    def stop(number: int, _frame: object) -> None:
        raise Stopped(number)

    def call_instead(function: Callable[[], None]) -> None:
        for number in numbers:
            signal.signal(number, lambda *_: function())

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield call_instead
    finally:
        for number, handler in zip(numbers, previous, strict=True):
            signal.signal(number, handler)


def _shown(paths: Sequence[str]) -> str:
    first = os.path.relpath(paths[0])
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
