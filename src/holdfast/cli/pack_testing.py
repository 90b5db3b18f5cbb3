"""Plays the scripted conversations of a pack, and shows what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import pack_files
from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.options import JsonOption
from holdfast.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.host.packs import Pack
    from holdfast.host.simulator.coverage import Coverage
    from holdfast.host.simulator.results import Outcome
    from holdfast.host.simulator.script import Test
    from holdfast.testing.simulator import Simulator

_MISSED = 20


def play(
    folder: Annotated[
        str, typer.Argument(metavar="[PACK]", help="The folder of the pack, or its archive.")
    ] = ".",
    *,
    chosen: Annotated[
        str, typer.Option("-k", metavar="NAME", help="Only tests whose name contains this.")
    ] = "",
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Play against a real host: a worker process on this store, or at this server. "
            "Tests that set the time are skipped.",
            show_default="a store of its own, whose time tests set",
        ),
    ] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML.")
    ] = None,
    min_coverage: Annotated[
        float,
        typer.Option(
            "--min-coverage",
            metavar="PERCENT",
            min=0,
            max=100,
            help="Fail if the tests cover less of all nodes and ways between them.",
        ),
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Play the tests of a pack, with fakes and a clock that they set. Exits with 1 if one fails."""
    if store is not None and min_coverage:
        message = "min-coverage: a real host does not say what ran; leave out --store"
        raise InvalidInput(message, field="min-coverage")
    with pack_files.work(f"reading {folder}", as_json=as_json):
        pack, tests = _read(Path(folder), chosen, as_json=as_json)
    run = _Run(Path(folder), pack, tests, as_json=as_json)
    if store is None:
        asyncio.run(run.simulate())
    else:
        opening.ask(store, lambda engine: run.host(engine, store), create=True, maintenance=True)
    if junit is not None:
        _write_junit(Path(junit), run)
    if not run.report(min_coverage):
        raise typer.Exit(1)


def _read(folder: Path, chosen: str, *, as_json: bool) -> tuple[Pack, list[Test]]:
    from holdfast.host import packs
    from holdfast.host.simulator import reader

    pack = packs.load(folder, packs.Trust(unsigned=True), quiet=True)
    pack_files.refuse_problems(pack.files, as_json=as_json)
    tests = reader.read(pack.files)
    found = [one for one in tests if chosen.casefold() in one.id.casefold()]
    if chosen and not found:
        message = f"k: no test has {chosen!r} in its name"
        raise InvalidInput(message, field="k")
    return pack, found


def _write_junit(path: Path, run: _Run) -> None:
    from holdfast.host.simulator import results

    try:
        path.write_text(results.as_junit(run.pack.id, run.outcomes), "utf-8")
    except OSError as error:
        message = f"junit: cannot write {path} ({error.strerror})"
        raise InvalidInput(message, field="junit") from error


class _Run:
    """One run of tests."""

    def __init__(self, path: Path, pack: Pack, tests: list[Test], *, as_json: bool) -> None:
        self._path = path
        self.pack = pack
        self._tests = tests
        self._as_json = as_json
        self.outcomes: list[Outcome] = []
        self._coverage: Coverage | None = None

    def _simulator(self) -> Simulator:
        from holdfast.host import packs
        from holdfast.testing.simulator import Simulator

        return Simulator(packs.bundle(self.pack))

    async def simulate(self) -> None:
        """Play the tests in this process."""
        from holdfast.testing.simulator import simulated

        simulator = self._simulator()
        if self._tests:
            async with simulated(simulator) as world:
                await self._play(simulator.play_all(world, self._tests))
        self._coverage = simulator.coverage

    async def host(self, engine: Engine, store: str) -> None:
        """Play the tests against a worker process."""
        from holdfast.testing.simulator import hosted

        simulator = self._simulator()
        async with hosted(simulator, self._path, engine, store) as world:
            await self._play(simulator.play_all(world, self._tests))

    async def _play(self, outcomes: AsyncIterator[Outcome]) -> None:
        async for outcome in outcomes:
            self.outcomes.append(outcome)
            if not self._as_json:
                output.say(f"{outcome.verdict.value:<8}{outcome.test.id}")

    def report(self, min_coverage: float) -> bool:
        """Write what came of it; returns whether all is well."""
        from holdfast.host.simulator.results import Verdict

        failed = [one for one in self.outcomes if one.verdict is Verdict.FAILED]
        coverage = self._coverage
        covers = coverage is None or coverage.percent >= min_coverage
        if self._as_json:
            value: dict[str, object] = {"tests": [one.as_value() for one in self.outcomes]}
            if coverage is not None:
                value["coverage"] = coverage.as_value()
            output.emit(value)
            return covers and not failed
        self._write_failures(failed)
        if coverage is not None:
            _write_coverage(coverage)
            if not covers:
                output.say(f"the coverage is below {min_coverage:g} %")
        return covers and not failed

    def _write_failures(self, failed: list[Outcome]) -> None:
        from holdfast.host.simulator import results

        for outcome in failed:
            output.say("")
            for line in results.failure_lines(outcome):
                output.say(line)
        if failed:
            output.say("")
        seconds = sum(outcome.seconds for outcome in self.outcomes)
        counts = results.summary(self.outcomes)
        output.say(f"{counts} in {seconds:.1f} s" if counts else "the pack has no tests")


def _write_coverage(coverage: Coverage) -> None:
    nodes, ways = len(coverage.nodes), len(coverage.ways)
    output.say(
        f"covered {nodes} of {nodes + len(coverage.missed_nodes)} nodes and {ways} of "
        f"{ways + len(coverage.missed_ways)} ways between them ({coverage.percent:.0f} %)"
    )
    missed = coverage.missed()
    for line in missed[:_MISSED]:
        output.say(f"  not covered: {line}")
    if len(missed) > _MISSED:
        output.say(f"  and {len(missed) - _MISSED} more")
