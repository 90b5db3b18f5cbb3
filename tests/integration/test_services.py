"""Services: what stops is restarted, and everybody who asks can see it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest

from holdfast.archive.service import ArchiveService
from holdfast.engine import Engine, open_engine
from holdfast.errors import HoldfastError, OutcomeUnknown, StoreUnavailable
from holdfast.model.executions import NewExecution
from holdfast.model.findings import Level
from holdfast.model.messages import NewMessage
from holdfast.model.schedules import NewSchedule
from holdfast.model.services import ServiceProcess, ServiceStatus
from holdfast.model.states import State
from holdfast.model.timing import Timing
from holdfast.operate import findings
from holdfast.services import Supervisor, supervisor
from holdfast.testing.polling import wait_for

NAMES = [
    "ticker",
    "courier",
    "scheduler",
    "queue ticker",
    "drainer",
    "roller",
    "bulk",
    "announcer",
    "channels",
    "file sweeper",
    "historian",
    "reporter",
    "archiver",
]


class Failing:
    """A service that fails as often as it is told to."""

    name = "failing"

    def __init__(self, failures: list[Exception | None]) -> None:
        self.failures = failures

    async def run(self) -> None:
        """Fail, return, or wait."""
        if not self.failures:
            await asyncio.Event().wait()
        failure = self.failures.pop(0)
        if failure is not None:
            raise failure


@pytest.fixture
async def kept(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Supervisor]:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_S", 0.01)
    kept = Supervisor()
    yield kept
    await kept.close()


async def until(condition: Callable[[], bool]) -> None:
    async def holds() -> bool:
        return condition()

    await wait_for(holds, timeout_s=5)


def status_of(services: Supervisor, name: str) -> ServiceStatus:
    return next(status for status in services.statuses() if status.name == name)


async def test_a_service_that_stops_is_restarted(
    kept: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it fails or returns; the log says why, and the status remembers it."""
    kept.start(Failing([ValueError("broken"), None]))
    await until(lambda: status_of(kept, "failing").restarts == 2)
    await until(lambda: status_of(kept, "failing").running)
    status = status_of(kept, "failing")
    assert status.last_error == "it returned"
    assert status.last_error_at is not None
    assert "service failing stopped; restarting it in 0.0 s: ValueError: broken" in caplog.text
    assert "Traceback" in caplog.text


async def test_an_outage_of_the_store_is_no_defect(
    kept: Supervisor, caplog: pytest.LogCaptureFixture
) -> None:
    """The outage has its own lines in the log, so the stop and the restart are not worth others."""
    caplog.set_level(logging.INFO)
    kept.start(Failing([StoreUnavailable("the store is away")]))
    await until(lambda: status_of(kept, "failing").restarts == 1)
    await until(lambda: status_of(kept, "failing").running)
    assert "failing" not in caplog.text


@pytest.mark.parametrize("failure", [StoreUnavailable("it is away"), OutcomeUnknown("no answer")])
async def test_a_service_is_back_soon_after_a_long_outage(
    kept: Supervisor, failure: HoldfastError
) -> None:
    """Its pauses do not grow while the store is away: until it runs, a server is not ready."""
    kept.start(Failing([failure] * 20))
    await until(lambda: status_of(kept, "failing").restarts == 20)
    await until(lambda: status_of(kept, "failing").running)


async def test_a_service_that_is_broken_has_growing_pauses(
    kept: Supervisor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Up to the longest; an outage in between makes them short again."""
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE_S", 0.03)
    kept.start(Failing([None, None, None, None, StoreUnavailable("it is away"), None]))
    await until(lambda: status_of(kept, "failing").restarts == 6)
    stops = [one.args for one in caplog.records if "stopped" in one.msg]
    pauses = [args[1] for args in stops if isinstance(args, tuple)]
    assert pauses == [0.01, 0.02, 0.03, 0.03, 0.02]


async def test_a_closed_supervisor_leaves_nothing_running(kept: Supervisor) -> None:
    """Neither a service nor its restart."""
    kept.start(Failing([None]))
    await kept.close()
    assert kept.statuses() == ()
    assert [task for task in asyncio.all_tasks() if "Failing" in repr(task)] == []


class Slow:
    """A service that does not end before a test lets it."""

    name = "slow"

    def __init__(self) -> None:
        self.ending = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled; then take long to clean up."""
        try:
            await asyncio.Event().wait()
        finally:
            self.ending.set()
            await asyncio.Event().wait()


async def test_closing_a_supervisor_can_be_cancelled(kept: Supervisor) -> None:
    """Its caller's cancellation is not lost, and no service goes on."""
    kept.start(Failing([]))
    slow = Slow()
    kept.start(slow)
    await asyncio.sleep(0)  # both begin
    closing = asyncio.ensure_future(kept.close())
    await slow.ending.wait()
    closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()
    await asyncio.sleep(0)
    left = [one for one in asyncio.all_tasks() if "Failing" in repr(one) or "Slow" in repr(one)]
    assert left == []


@pytest.fixture
async def engine(real_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Engine]:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_S", 0.01)
    async with open_engine(real_url) as engine:
        engine.services.start(ArchiveService(engine.store, look_s=0.05))
        yield engine


@pytest.mark.parametrize("name", NAMES)
async def test_each_service_of_a_process_comes_back(engine: Engine, name: str) -> None:
    """Killed inside the process, it runs again, and the store hears of it."""
    assert [status.name for status in engine.services.statuses()] == NAMES
    engine.services.kill(name)
    await until(lambda: status_of(engine.services, name).restarts == 1)
    await until(lambda: status_of(engine.services, name).running)

    async def reported() -> bool:
        return any(
            service.name == name and service.restarts == 1 and service.running
            for process in await engine.store.services.list()
            for service in process.services
        )

    await wait_for(reported, timeout_s=5)


@pytest.mark.parametrize("name", ["ticker", "scheduler", "queue ticker"])
async def test_what_is_due_still_happens_after_a_restart(engine: Engine, name: str) -> None:
    """Timers, schedules and queues go on where they were."""
    await engine.queues.define("mail")
    engine.services.kill(name)
    await until(lambda: status_of(engine.services, name).restarts == 1)
    made = await engine.submit("later", delay_ms=50)
    await engine.schedules.create(
        NewSchedule(
            id="often", timing=Timing(every_ms=100), execution=NewExecution(kind="scheduled")
        )
    )
    await engine.queues.push_many("mail", [NewMessage(payload=b"1", delay_ms=50)])

    async def waiting() -> bool:
        return (await engine.describe(made.id)).state is State.WAITING

    async def fired() -> bool:
        return any(count.kind == "scheduled" for count in await engine.count())

    async def ready() -> bool:
        stats = await engine.queues.stats("mail")
        return stats.groups["default"].ready == 1

    for happened in (waiting, fired, ready):
        await wait_for(happened, timeout_s=10)


async def test_doctor_names_the_service_that_does_not_run() -> None:
    """With its process and the reason; restarts that are over are only counted."""
    down = ServiceStatus(name="courier", running=False, restarts=3, last_error="ValueError: x")
    up = ServiceStatus(name="ticker", running=True, restarts=1)
    finding = findings.services([ServiceProcess(name="host.1.ab", services=(up, down))])
    assert finding.level is Level.ERROR
    assert "courier of host.1.ab (ValueError: x)" in finding.text
    finding = findings.services([ServiceProcess(name="host.1.ab", services=(up,))])
    assert (finding.level, finding.text) == (
        Level.OK,
        "1 in 1 process, restarted 1 times",
    )
    assert findings.services([]).text == "no process runs any service"
