"""hf_execution_create with debounce and throttle."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.moments import from_ms
from holdfast.model.quotas import Window
from holdfast.model.states import Hold, State
from holdfast.store.items import encode_item
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, create_one, state_of

LARGE = b"x" * 200


async def _submit(store: Store, mode: str, data: bytes = b"1", **fields: Any) -> Submitted:
    window = Window("key", 1_000)
    item = NewExecution(**{"kind": "work", "input": data, mode: window, **fields})
    (answer,) = await store.executions.create([item])
    assert isinstance(answer, Submitted)
    return answer


async def test_the_first_of_a_window_wins(store: Store, clock: Clock) -> None:
    """Others are answered with it, whatever became of it; then a new window starts."""
    first = await _submit(store, "throttle")
    assert (first.state, first.duplicate) == (State.WAITING, False)
    claim = await claim_one(store, first.id)
    again = await _submit(store, "throttle", b"2")
    assert again == Submitted(id=first.id, state=State.ACTIVE, duplicate=True)
    assert claim.input == b"1"
    await clock.advance(999)
    assert (await _submit(store, "throttle")).id == first.id
    await clock.advance(1)
    second = await _submit(store, "throttle", b"3")
    assert (second.id != first.id, second.duplicate) == (True, False)


async def test_the_last_of_a_window_wins(store: Store, clock: Clock, dump: Dump) -> None:
    """Each submission replaces the input and starts the window anew."""
    first = await _submit(store, "debounce", b"1")
    assert (first.state, first.duplicate) == (State.DELAYED, False)
    for data in (LARGE, b"3"):
        await clock.advance_and_tick(600)
        again = await _submit(store, "debounce", data)
        assert again == Submitted(id=first.id, state=State.DELAYED, duplicate=True)
        assert await store.queries.input(first.id) == data
    assert str(LARGE) not in str(dump())
    found = await store.queries.describe(first.id)
    assert (found.hold, found.run_at) == (Hold.DEBOUNCE, from_ms(clock.now_ms + 1_000))
    await clock.advance_and_tick(999)
    assert await state_of(store, first.id) is State.DELAYED
    await clock.advance_and_tick(1)
    assert (await claim_one(store, first.id)).input == b"3"


@pytest.mark.parametrize("priority", [5, 0])
async def test_a_later_submission_keeps_the_priority(
    store: Store, clock: Clock, priority: int
) -> None:
    """It moves the execution to the end of its new window, still ahead of less urgent ones."""
    first = await _submit(store, "debounce", b"1", priority=priority)
    await clock.advance_and_tick(600)
    await _submit(store, "debounce", b"2", priority=priority)
    other = await create_one(store, id=f"{first.id}~0.1")
    await clock.advance_and_tick(1_000)
    await claim_one(store, first.id if priority else other)


async def test_the_last_of_one_call_wins(store: Store) -> None:
    """Whatever the sizes of the inputs, and with others beside them."""
    inputs = (LARGE, b"2", LARGE + b"3")
    window = Window(key="k", ms=1_000)
    items = [NewExecution(kind="work", input=data, debounce=window) for data in inputs]
    answers = await store.executions.create(items)
    assert len({answer.id for answer in answers if isinstance(answer, Submitted)}) == 1
    (answer, *_) = answers
    assert isinstance(answer, Submitted)
    assert await store.queries.input(answer.id) == inputs[-1]


async def test_a_debounced_execution_that_has_started_is_not_changed(
    store: Store, clock: Clock
) -> None:
    """The next submission is a new execution."""
    first = await _submit(store, "debounce", b"1")
    await clock.advance_and_tick(1_000)
    second = await _submit(store, "debounce", b"2")
    assert (second.id != first.id, second.state) == (True, State.DELAYED)
    assert await store.queries.input(first.id) == b"1"


async def test_keys_belong_to_a_tenant_and_a_mode(store: Store) -> None:
    """The same key elsewhere is another window."""
    answers = [
        await _submit(store, mode, tenant=tenant)
        for tenant in ("t1", "t2")
        for mode in ("debounce", "throttle")
    ]
    assert len({answer.id for answer in answers}) == 4


@pytest.mark.parametrize("mode", ["debounce", "throttle"])
async def test_a_call_sent_twice_is_one_submission(store: Store, dump: Dump, mode: str) -> None:
    """Also late, when a later submission has won: the input does not go back."""
    window = Window("key", 1_000)
    calls: list[tuple[str, bytes, bytes]] = []
    for number, data in enumerate((b"1", b"2")):
        item = NewExecution(kind="work", input=data, **{mode: window})  # type: ignore[arg-type]
        packed = encode_item(item, f"root~{number}")
        calls.append((store.tag_of("root~"), packed, data))
    answers = [await store.caller.write("hf_execution_create", tag, *args) for tag, *args in calls]
    before = dump()
    for (tag, *args), answer in zip(calls, answers, strict=True):
        assert await store.caller.write("hf_execution_create", tag, *args) == answer
        assert dump() == before
    assert await store.queries.input("root~0") == (b"2" if mode == "debounce" else b"1")


@pytest.mark.parametrize("wait_ms", [0, 1_000])
@pytest.mark.parametrize("mode", ["debounce", "throttle"])
async def test_a_call_of_an_earlier_window_changes_nothing(
    store: Store, clock: Clock, dump: Dump, mode: str, wait_ms: int
) -> None:
    """It comes again when another window of its key has begun, or has ended as well."""
    window, tag = Window("key", 1_000), store.tag_of("root~")
    calls = []
    for number in range(3):
        item = NewExecution(kind="work", input=b"%d" % number, **{mode: window})  # type: ignore[arg-type]
        calls.append((encode_item(item, f"root~{number}"), item.input))
    answers = []
    for number, call in enumerate(calls):
        if number == 2:
            await clock.advance_and_tick(1_000)
        answers.append(await store.caller.write("hf_execution_create", tag, *call))
    await clock.advance_and_tick(wait_ms)
    await claim_one(store, "root~0")
    before = dump()
    # What a throttle has turned away is nothing that could be recognised.
    for number in (0, 1, 2) if mode == "debounce" else (0, 2):
        (again,) = await store.caller.write("hf_execution_create", tag, *calls[number])
        assert again[:-1] == answers[number][0][:-1]
        assert dump() == before


async def test_the_last_16_calls_of_a_window_are_recognised(store: Store) -> None:
    """And that which made the execution; a repetition of another counts as a new submission."""
    calls = []
    for number in range(18):
        item = NewExecution(kind="work", input=b"%d" % number, debounce=Window("key", 1_000))
        calls.append((encode_item(item, f"root~{number}"), item.input))
        await store.caller.write("hf_execution_create", store.tag_of("root~"), *calls[-1])
    for call in (calls[0], *calls[2:]):
        await store.caller.write("hf_execution_create", store.tag_of("root~"), *call)
        assert await store.queries.input("root~0") == b"17"
    await store.caller.write("hf_execution_create", store.tag_of("root~"), *calls[1])
    assert await store.queries.input("root~0") == b"1"


@pytest.mark.parametrize(
    "fields",
    [
        {"debounce": Window("k", 1), "id": "x"},
        {"debounce": Window("k", 1), "idempotency_key": "x"},
        {"debounce": Window("k", 1), "delay_ms": 1},
        {"debounce": Window("k", 1), "throttle": Window("k", 1)},
        {"throttle": Window("k", 1), "id": "x"},
        {"throttle": "k"},
    ],
)
def test_windows_do_not_combine_with_names(fields: dict[str, Any]) -> None:
    """The id is that of the window."""
    with pytest.raises(InvalidInput):
        NewExecution(kind="work", **fields)
