"""`holdfast bench`: measure how fast a store is from this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.options import JsonOption, StoreOption
from holdfast.errors import HoldfastError, StoreUnavailable
from holdfast.model.executions import Claim, NewExecution
from holdfast.model.ids import new_id

if TYPE_CHECKING:
    from holdfast.api import Engine

_BATCH = 100
#: Batches in flight at once.
_WIDTH = 4
_LEASE_MS = 60_000
#: The deadline removes what an interrupted run leaves behind.
_DEADLINE_MS = 600_000
_CLAIM_WAIT_MS = 5_000
_CLEAR_S = 30
_LOOK_EVERY_S = 0.1

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A number of executions and the time that they took."""

    what: str
    count: int
    seconds: float
    per_second: float


def bench(
    *,
    count: Annotated[
        int, typer.Option("--count", "-n", min=100, max=1_000_000, help="The number of executions.")
    ] = 5_000,
    size: Annotated[
        int,
        typer.Option(
            "--size", min=2, max=1_000_000, help="The size of each input and result, in bytes."
        ),
    ] = 100,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a store: submit, claim and complete executions on a lane of their own."""
    payload = b'"' + b"x" * (size - 2) + b'"'
    rates = opening.ask(
        store, lambda engine: _measure(engine, count, payload), create=True, maintenance=True
    )
    if as_json:
        output.emit({"items": rates})
        return
    rows = [
        (rate.what, rate.count, f"{rate.seconds:.2f}", f"{rate.per_second:,.0f}") for rate in rates
    ]
    output.show_table(("what", "executions", "seconds", "per second"), rows, nothing="")


async def _measure(engine: Engine, count: int, payload: bytes) -> list[Rate]:
    lane = f"bench-{new_id()[-6:]}"
    with output.progress("submitting", count) as advance:
        submitted = await _timed(
            "submit", count, lambda: _submit(engine, lane, count, payload, advance)
        )
    with output.progress("claiming and completing", count) as advance:
        completed = await _timed(
            "claim and complete", count, lambda: _complete(engine, lane, count, payload, advance)
        )
    with output.status("clearing up"):
        await _clear(engine, lane)
    return [submitted, completed]


async def _clear(engine: Engine, lane: str) -> None:
    """Wait until retention has removed the executions; this process fires the timers."""
    for _ in range(int(_CLEAR_S / _LOOK_EVERY_S)):
        if not any(cell.lane == lane for cell in await engine.count()):
            return
        await asyncio.sleep(_LOOK_EVERY_S)


async def _timed(what: str, count: int, work: Callable[[], Awaitable[None]]) -> Rate:
    start = time.perf_counter()
    await work()
    seconds = time.perf_counter() - start
    return Rate(what=what, count=count, seconds=seconds, per_second=count / seconds)


async def _submit(engine: Engine, lane: str, count: int, payload: bytes, advance: Advance) -> None:
    left = count

    async def run() -> None:
        nonlocal left
        while left > 0:
            size = min(_BATCH, left)
            left -= size
            # No retention, so that the run leaves nothing behind.
            items = [
                NewExecution(
                    kind="holdfast.bench",
                    lane=lane,
                    input=payload,
                    deadline_ms=_DEADLINE_MS,
                    retention_ms=0,
                )
                for _ in range(size)
            ]
            for answer in await engine.submit_many(items):
                if isinstance(answer, HoldfastError):
                    raise answer
            advance(size)

    await asyncio.gather(*(run() for _ in range(_WIDTH)))


async def _complete(
    engine: Engine, lane: str, count: int, payload: bytes, advance: Advance
) -> None:
    left = count

    async def complete(claim: Claim) -> None:
        await engine.complete(claim.id, claim.lease, payload)

    async def run(number: int) -> None:
        nonlocal left
        async with engine.claimer(worker=f"bench-{number}", lanes=[lane]) as claimer:
            while left > 0:
                size = min(_BATCH, left)
                left -= size
                claims = await claimer.claim(size, _LEASE_MS, wait_ms=_CLAIM_WAIT_MS)
                left += size - len(claims)
                if not claims and left > 0:
                    message = f"{left} executions of this benchmark cannot be claimed"
                    raise StoreUnavailable(message)
                await asyncio.gather(*(complete(claim) for claim in claims))
                advance(len(claims))

    await asyncio.gather(*(run(number) for number in range(_WIDTH)))
