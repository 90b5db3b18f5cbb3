"""Trials: tests judge a mutant in a process that is forked from one that has collected them all.

Each trial has servers and a folder of its own, which end with it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
import valkey

from holdfast.store.valkey import library
from tests.mutants import reaching

if TYPE_CHECKING:
    from holdfast.store.valkey.library import Source
    from holdfast.testing.servers import TestServer
    from tests.mutants.drawing import Mutant

#: A mutant that loops is as good as found.
LIMIT_S = 600


@dataclass(slots=True)
class Reach:
    """What each test runs, and how long it takes."""

    tests_of: dict[str, list[str]] = field(default_factory=dict)
    took_s: dict[str, float] = field(default_factory=dict)

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the changed block, the quickest first."""
        blocks = reaching.blocks_of(mutant.source, mutant.before)
        mark = blocks.at(mutant.at)
        if mark is None:
            marks: Iterable[str] = map(blocks.mark, range(len(blocks.starts)))
        else:
            marks = [mark]
        tests = {test for one in marks for test in self.tests_of.get(one, ())}
        return sorted(tests, key=lambda test: self.took_s[test])


class Trials:
    """A plugin of pytest that runs collected tests as often as it is asked."""

    def __init__(self, work: Callable[[Trials], None]) -> None:
        self._work = work
        self._items: dict[str, pytest.Item] = {}
        self._failed = False
        self._server: TestServer | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work instead of running every test once."""
        self._items = {
            item.nodeid: item
            for item in session.items
            if "cluster" not in item.name.partition("[")[2]
        }
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self._failed = self._failed or report.failed

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Note the server, whose library has the marks."""
        made = yield
        if fixturedef.argname == "single_server":
            self._server = made
        return made

    def reach(self, kept: Path | None = None) -> Reach:
        """Run every test once with a library that marks what it enters, unless that is kept."""
        if kept and kept.exists():
            return Reach(**json.loads(kept.read_text()))
        with tempfile.TemporaryDirectory() as folder:
            path = kept or Path(folder, "reach.json")
            if not forked(lambda: self._record(path), limit_s=3600):
                raise SystemExit("tests fail with a library that marks blocks")
            return Reach(**json.loads(path.read_text()))

    def beginning(self, starts: list[str]) -> list[str]:
        """Return the tests whose paths begin like this, in the order of the beginnings."""
        found = [test for start in starts for test in self._items if test.startswith(start)]
        return list(dict.fromkeys(found))

    def survives(self, mutant: Mutant, tests: list[str], limit_s: float = LIMIT_S) -> bool:
        """Return whether tests pass with a mutant."""
        return forked(lambda: self._judge(mutant, tests), limit_s=limit_s)

    def _judge(self, mutant: Mutant, tests: list[str]) -> bool:
        with changed(mutant):
            return all(passes for _, passes in self._run(tests))

    def _record(self, path: Path) -> bool:
        reach = Reach()
        with _sources(reaching.marked(library.sources())):
            started = time.monotonic()
            for test, passes in self._run(list(self._items)):
                marks = self._marks()
                if passes:
                    reach.took_s[test] = time.monotonic() - started
                    for mark in marks:
                        reach.tests_of.setdefault(mark, []).append(test)
                started = time.monotonic()
        path.write_text(json.dumps({"tests_of": reach.tests_of, "took_s": reach.took_s}))
        return bool(reach.took_s)

    def _marks(self) -> list[str]:
        if self._server is None:
            return []
        with self._server.raw() as client:
            try:
                found: Any = client.fcall(reaching.FUNCTION, 0)
            except valkey.ValkeyError:
                return []  # The library is flushed, or the server ended with the last test.
        return [mark.decode() for mark in found]

    def _run(self, tests: list[str]) -> Iterator[tuple[str, bool]]:
        """Run tests; yields each and whether it passes."""
        for test, following in itertools.zip_longest(tests, tests[1:]):
            self._failed = False
            item, after = self._items[test], self._items.get(following)
            # What both need stays, such as the servers of the session.
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            yield test, not self._failed


@contextlib.contextmanager
def changed(mutant: Mutant) -> Iterator[None]:
    """Let every library that is loaded have the change."""
    sources = dict(library.sources())
    sources[mutant.source] = replace(sources[mutant.source], text=mutant.after)
    with _sources(sources):
        yield


@contextlib.contextmanager
def _sources(sources: dict[str, Source]) -> Iterator[None]:
    cached: tuple[Any, ...] = (library.load, library.script)
    with mock.patch.object(library, "sources", return_value=sources):
        for function in cached:
            function.cache_clear()
        yield


def forked(work: Callable[[], bool], limit_s: float) -> bool:
    """Do work in a process; returns what it returns, and False after the limit."""
    folder = tempfile.mkdtemp(prefix="holdfast-mutants-")
    child = os.fork()
    if child == 0:
        _be_child(work, folder)
    deadline = time.monotonic() + limit_s
    status = None
    while status is None and time.monotonic() < deadline:
        ended, code = os.waitpid(child, os.WNOHANG)
        status = code if ended else None
        time.sleep(0.01)
    if status is None:
        _end_children(child)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    return status == 0


def _be_child(work: Callable[[], bool], folder: str) -> None:
    """Do the work and end, without the clean-up that belongs to the parent."""
    tempfile.tempdir = folder
    loud, quiet = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    code = 1
    try:
        code = 0 if work() else 1
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        # Failed tests do not come so far.
        os.write(loud, traceback.format_exc().encode())
    finally:
        _end_children(os.getpid())
        os._exit(code)


def _end_children(process: int) -> None:
    """End the servers that a process has started; they are in sessions of their own."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        for child in (thread / "children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
