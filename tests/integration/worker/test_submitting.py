"""Submitting tasks, and what a handle tells of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest
from pydantic import BaseModel

from holdfast import App
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed, HoldfastError, InvalidInput, ResultNotReady, TooLarge
from holdfast.model import bounds
from holdfast.model.states import State
from tests.integration.worker.conftest import Working, near

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


class Order(BaseModel):
    """A typed input."""

    number: int
    items: list[str] = []


@dataclass
class Receipt:
    """A typed result."""

    order: Order
    total: float


async def test_a_typed_result_comes_back_as_its_type(app: App, working: Working) -> None:
    """Models in, dataclasses out."""

    @app.task
    async def buy(order: Order, *, tip: float = 0) -> Receipt:
        assert isinstance(order, Order)
        return Receipt(order=order, total=len(order.items) + tip)

    async with working():
        handle = await buy.submit(Order(number=1, items=["a", "b"]), tip=0.5)
        receipt = await handle.result(timeout=5)
    assert receipt == Receipt(order=Order(number=1, items=["a", "b"]), total=2.5)


async def test_async_and_plain_functions_run_side_by_side(app: App, working: Working) -> None:
    """A plain one runs in a thread, so it may block."""
    meeting = asyncio.Event()
    loop = asyncio.get_running_loop()

    @app.task
    async def waits() -> str:
        await meeting.wait()
        return "async"

    @app.task
    def comes() -> str:
        loop.call_soon_threadsafe(meeting.set)
        return "plain"

    async with working(slots=2):
        handles = [await waits.submit(), await comes.submit()]
        results = await asyncio.gather(*(handle.result(timeout=5) for handle in handles))
    assert results == ["async", "plain"]


async def test_bytes_travel_untouched(app: App, working: Working, engine: Engine) -> None:
    """In and out, with their content type."""

    @app.task
    def reverse(data: bytes) -> bytes:
        return data[::-1]

    async with working():
        handle = await reverse.submit(b"\x00\xff{")
        assert await handle.result(timeout=5) == b"{\xff\x00"
    outcome = await engine.outcome(handle.id)
    assert outcome is not None
    assert outcome.content_type == "application/octet-stream"


async def test_a_failure_is_raised_with_its_error(app: App, working: Working) -> None:
    """Type, message and traceback of what the task raised."""

    @app.task
    async def lookup(user: int) -> str:
        raise KeyError(f"no user {user}")

    async with working():
        handle = await lookup.submit(7)
        with pytest.raises(ExecutionFailed, match="ended as failed: 'no user 7'") as failed:
            await handle.result(timeout=5)
    error = failed.value.context["error"]
    assert failed.value.context["state"] == State.FAILED
    assert failed.value.context["id"] == handle.id
    assert (error["type"], error["message"]) == ("KeyError", "'no user 7'")
    assert "in lookup" in error["details"]["traceback"]


async def test_waiting_has_a_limit(app: App) -> None:
    """In seconds or as a timedelta."""

    @app.task
    def work() -> None: ...

    handle = await work.submit()
    for timeout in (0.01, timedelta(milliseconds=10)):
        with pytest.raises(ResultNotReady, match=handle.id):
            await handle.result(timeout=timeout)
    with pytest.raises(InvalidInput, match=r"^timeout: "):
        await handle.result(timeout=-1)


async def test_no_time_at_all_still_finds_what_has_ended(app: App, working: Working) -> None:
    """A timeout of zero is a look."""

    @app.task
    def work() -> int:
        return 7

    async with working():
        handle = await work.submit()
        await handle.result(timeout=5)
        assert await handle.result(timeout=0) == 7


async def test_a_handle_answers_about_its_execution(app: App) -> None:
    """State, description, explanation, cancellation."""

    @app.task(lane="mail", tags={"team": "a"})
    def send(to: str) -> None: ...

    handle = await send.submit("me")
    assert await handle.state() is State.WAITING
    described = await handle.describe()
    assert (described.kind, described.lane, described.tags) == ("send", "mail", {"team": "a"})
    assert "no live worker serves lane mail" in (await handle.explain()).why
    await handle.cancel("not needed")
    assert await handle.state() is State.CANCELLED
    with pytest.raises(ExecutionFailed, match="ended as cancelled: not needed"):
        await handle.result(timeout=5)


async def test_a_handle_is_found_again_by_id(app: App, working: Working) -> None:
    """Another process may ask for a typed result later."""

    @app.task
    def double(x: int) -> tuple[int, int]:
        return x, 2 * x

    async with working():
        submitted = await double.options(id="order-1").submit(4)
        assert submitted.id == "order-1"
        assert await double.handle("order-1").result(timeout=5) == (4, 8)


async def test_the_same_key_finds_the_same_execution(app: App) -> None:
    """The handle says that it was there already."""

    @app.task
    def work(x: int) -> None: ...

    once = work.options(idempotency_key="k")
    first, second = await once.submit(1), await once.submit(1)
    assert (first.duplicate, second.duplicate) == (False, True)
    assert first.id == second.id
    with pytest.raises(HoldfastError) as conflict:
        await once.submit(2)
    assert conflict.value.code == "idempotency_conflict"


@near
async def test_many_are_submitted_at_once_in_order(app: App, working: Working) -> None:
    """More than fit into one call to the store."""
    many = bounds.BATCH_ITEMS + 1

    @app.task
    async def double(x: int) -> int:
        return 2 * x

    async with working():
        handles = await double.submit_many([{"x": n} for n in range(many)])
        results = await asyncio.gather(*(handle.result(timeout=20) for handle in handles))
    assert results == [2 * n for n in range(many)]


async def test_none_are_submitted_when_one_of_many_is_invalid(app: App, engine: Engine) -> None:
    """A small batch is checked before anything is sent."""

    @app.task
    async def double(x: int) -> int:
        return 2 * x

    with pytest.raises(InvalidInput, match=r"^input\.x: "):
        await double.submit_many([{"x": 1}, {"x": "two"}])
    assert await double.submit_many([]) == []
    assert list(await engine.count()) == []


async def test_an_input_over_the_limit_is_refused(app: App) -> None:
    """Nothing is sent."""

    @app.task
    def keep(data: bytes) -> None: ...

    with pytest.raises(TooLarge):
        await keep.submit(b"x" * (bounds.PAYLOAD_BYTES + 1))


async def test_an_input_that_no_longer_fits_ends_the_execution(
    app: App, working: Working, engine: Engine
) -> None:
    """Trying again would not help, so its retries are not used."""

    @app.task(retries=5)
    def double(x: int) -> int:
        return 2 * x

    made = await engine.submit("double", input=b'{"y": 1}')
    async with working():
        with pytest.raises(ExecutionFailed, match=r"input\.x: Field required") as failed:
            await double.handle(made.id).result(timeout=5)
    assert failed.value.context["error"]["type"] == "invalid_input"


async def test_an_app_on_a_url_opens_and_closes_its_own_store(real_url: str) -> None:
    """And can be opened again."""
    app = App(real_url)

    @app.task
    def double(x: int) -> int:
        return 2 * x

    for _ in range(2):
        async with app:
            handle = await double.submit(1)
            assert await handle.state() is State.WAITING
    with pytest.raises(HoldfastError, match="not open"):
        await double.submit(1)


async def test_a_worker_inside_an_open_app_does_not_close_it(real_url: str) -> None:
    """Who opened it closes it."""
    app = App(real_url)

    @app.task
    def double(x: int) -> int:
        return 2 * x

    async with app:
        async with app.worker():
            assert await (await double.submit(1)).result(timeout=5) == 2
        assert await (await double.submit(2)).state() is State.WAITING
