"""What a task declares holds however it is submitted, unless the submission says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.errors import (
    BudgetNotFound,
    ExecutionNotFound,
    HoldfastError,
    IdConflict,
    InvalidInput,
    QuotaNotFound,
)
from holdfast.model.effects import Submit
from holdfast.model.executions import Execution, NewExecution
from holdfast.model.graphs import Edge
from holdfast.model.schedules import NewSchedule
from holdfast.model.timing import Timing
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import claim_one

SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["number"],
    "additionalProperties": False,
}
OPTIONS: dict[str, Any] = {
    "priority": 7,
    "requires": ["gpu"],
    "deadline_ms": 3_600_000,
    "attempt_timeout_ms": 5_000,
    "retry": {"max_attempts": 3, "backoff": {"kind": "fixed", "initial_ms": 1_000}},
    "max_reclaims": 0,
    "retention_ms": 0,
    "tags": {"team": "a"},
    "budgets": ["llm"],
    "quotas": ["http"],
}
GOOD = b'{"number": 1}'


@pytest.fixture
async def declared(engine: Engine) -> Engine:
    """An engine on a store for which a worker has published a task with every option."""
    await engine.budgets.create("llm", limits={"tokens": {"hard": 1_000}})
    await engine.quotas.create("http", max_concurrent=5)
    await publish(engine)
    return engine


async def publish(engine: Engine, *, tenant: str | None = None, **changes: Any) -> None:
    """Publish the task, as a worker does."""
    about = {"lane": "http", "input": SCHEMA, "options": OPTIONS, **changes}
    await engine.tasks.publish({"reserve": about}, tenant=tenant)


async def options_of(engine: Engine, execution_id: str) -> dict[str, Any]:
    """Return the declared options as an execution has them."""
    row = await engine.describe(execution_id)
    return {
        "lane": row.lane,
        "priority": row.priority,
        "requires": row.requires,
        "tags": {name: value for name, value in row.tags.items() if name != "schedule"},
        "budgets": tuple(sorted(row.budgets)),
        "quotas": row.quotas,
        "deadline": _lasts(row),
    }


def _lasts(row: Execution) -> float | None:
    if row.deadline_at is None:
        return None
    return (row.deadline_at - row.created_at).total_seconds()


DECLARED = {
    "lane": "http",
    "priority": 7,
    "requires": ("gpu",),
    "tags": {"team": "a"},
    "budgets": ("llm",),
    "quotas": ("http",),
    "deadline": 3600.0,
}


# Options


async def test_a_submission_takes_the_options_of_its_task(declared: Engine) -> None:
    """By name and fields, or as items, which leave out what is as always."""
    made = await declared.submit("reserve", input=GOOD)
    assert await options_of(declared, made.id) == DECLARED
    (item,) = await declared.submit_many([NewExecution(kind="reserve", input=GOOD)])
    assert not isinstance(item, HoldfastError)
    assert await options_of(declared, item.id) == DECLARED


async def test_declared_attempts_and_retention_hold(engine: Engine, clock: Clock) -> None:
    """Three attempts of five seconds; nothing of it is kept after its end."""
    kept = ("attempt_timeout_ms", "retry", "retention_ms")
    await publish(engine, options={name: OPTIONS[name] for name in kept})
    made = await engine.submit("reserve", input=GOOD)
    for attempt in range(3):
        claim = await claim_one(engine.store, made.id, lanes=["http"])
        assert claim.lease.attempt == attempt
        assert claim.timeout_at is not None
        await clock.advance_and_tick(5_000)
        await clock.advance_and_tick(1_000)
    with pytest.raises(ExecutionNotFound):
        await engine.describe(made.id)


async def test_what_a_submission_says_wins(declared: Engine) -> None:
    """Also when it says what holds without a declaration."""
    made = await declared.submit(
        "reserve",
        input=GOOD,
        lane="default",
        priority=0,
        requires=(),
        deadline_ms=None,
        tags={},
        budgets=(),
        quotas=["http"],
    )
    assert await options_of(declared, made.id) == {
        "lane": "default",
        "priority": 0,
        "requires": (),
        "tags": {},
        "budgets": (),
        "quotas": ("http",),
        "deadline": None,
    }


async def test_members_of_graphs_take_the_options_of_their_tasks(declared: Engine) -> None:
    """With the budgets of the graph besides their own, and those that come later."""
    await declared.budgets.create("graph", limits={"tokens": {"hard": 10}})
    item = NewExecution(kind="reserve", input=GOOD)
    made = await declared.graphs.submit({"a": item}, budgets=["graph"], id="g")
    expected = {**DECLARED, "budgets": ("graph", "llm")}
    assert await options_of(declared, made.members["a"]) == expected
    grown = await declared.graphs.grow("g", members={"b": item})
    assert await options_of(declared, grown.members["b"]) == expected
    again = await declared.graphs.submit({"a": item}, budgets=["graph"], id="g")
    assert again.duplicate
    with pytest.raises(IdConflict):
        await declared.graphs.submit({"a": item}, id="g")


async def test_schedules_fire_with_the_options_of_their_tasks(
    declared: Engine, clock: Clock
) -> None:
    """With those that hold when they fire, by the clock and by hand."""
    plan = NewSchedule(
        id="s",
        execution=NewExecution(kind="reserve", input=GOOD),
        timing=Timing(every_ms=1_000),
    )
    await declared.schedules.create(plan)
    await clock.advance_and_tick(1_000)
    await declared.schedules.run_due()
    (fired,) = (await declared.list()).items
    assert await options_of(declared, fired.id) == DECLARED
    await publish(declared, lane="other")
    by_hand = await declared.schedules.trigger("s", key="k")
    assert (await declared.describe(by_hand.id)).lane == "other"
    await publish(declared, lane="third")
    assert (await declared.schedules.trigger("s", key="k")).duplicate
    assert (await declared.schedules.create(plan))[1] is False


async def test_what_consumers_submit_takes_the_options_of_its_task(declared: Engine) -> None:
    """Together with the ack of a message."""
    await declared.queues.define("orders")
    await declared.queues.push("orders", b"1")
    (message,) = await declared.queues.read("orders", consumer="c")
    with pytest.raises(InvalidInput, match="number") as refused:
        await declared.queues.ack("orders", message.handle, Submit(NewExecution(kind="reserve")))
    assert refused.value.context["field"] == "effects[0].execution.input.number"
    effect = Submit(NewExecution(kind="reserve", input=GOOD))
    await declared.queues.ack("orders", message.handle, effect)
    (row,) = (await declared.list()).items
    assert await options_of(declared, row.id) == DECLARED


async def test_limits_that_are_missing_name_the_task(engine: Engine) -> None:
    """Whoever submits has not named them."""
    await publish(engine, options={"budgets": ["llm"]})
    with pytest.raises(BudgetNotFound, match=r"task reserve declares.*llm"):
        await engine.submit("reserve", input=GOOD)
    await publish(engine, options={"quotas": ["http"]})
    with pytest.raises(QuotaNotFound, match=r"task reserve declares.*http"):
        await engine.submit("reserve", input=GOOD)
    with pytest.raises(QuotaNotFound, match=r"^no quota"):
        await engine.submit("reserve", input=GOOD, quotas=["other"])


async def test_a_tenants_own_declaration_wins(engine: Engine) -> None:
    """Others keep what is declared for all."""
    await publish(engine, options={}, lane="common")
    await publish(engine, options={}, lane="ours", tenant="acme")
    lanes = {}
    for tenant in ("acme", "default"):
        made = await engine.submit("reserve", tenant=tenant, input=GOOD)
        lanes[tenant] = (await engine.describe(made.id)).lane
    assert lanes == {"acme": "ours", "default": "common"}


@pytest.mark.parametrize("name", ["id", "idempotency_key"])
async def test_a_repetition_stays_one_when_the_declaration_changes(
    declared: Engine, name: str
) -> None:
    """What was said is compared, not what was filled in; nor is the input checked again."""
    fields: dict[str, Any] = {name: "once", "input": GOOD}
    first = await declared.submit("reserve", **fields)
    await publish(declared, lane="other", input={"type": "array"})
    again = await declared.submit("reserve", **fields)
    assert (again.id, again.duplicate) == (first.id, True)
    with pytest.raises(InvalidInput):
        await declared.submit("reserve", **{**fields, "input": b'{"number": 2}'})
    with pytest.raises(HoldfastError) as refused:
        await declared.submit("reserve", **{**fields, "input": b"[]"})
    assert refused.value.code in {"id_conflict", "idempotency_conflict"}


# Input


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (b'{"number": "1"}', "input.number"),
        (b"{}", "input.number"),
        (b"null", "input.number"),
        (b'{"number": 1, "colour": "red"}', "input.colour"),
        (b"[]", "input"),
        (b"\xff", "input"),
    ],
)
async def test_input_must_fit_the_published_schema(
    declared: Engine, given: bytes, field: str
) -> None:
    """The error names the field; nothing is created. Whoever knows better can say so."""
    with pytest.raises(InvalidInput) as refused:
        await declared.submit("reserve", input=given)
    assert refused.value.context["field"] == field
    assert not (await declared.list()).items
    assert (await declared.submit("reserve", input=given, check=False)).id


async def test_no_input_is_no_arguments(engine: Engine) -> None:
    """A task without required arguments needs no input."""
    await publish(engine, options={}, input={"type": "object", "properties": {}})
    assert (await engine.submit("reserve")).id


async def test_input_is_not_checked_where_nothing_is_known(engine: Engine) -> None:
    """No worker has published the task, or one that takes bytes, or its schema is none."""
    assert (await engine.submit("reserve", input=b"\xff")).id
    schemas: list[dict[str, Any]] = [
        {"contentMediaType": "application/octet-stream"},
        {"type": 17},
        {"$ref": "https://example.org/schema"},
        {"properties": []},
        {"$ref": "#"},
    ]
    for schema in schemas:
        await publish(engine, options={}, input=schema)
        payload = b"\xff" if "contentMediaType" in schema else b"{}"
        assert (await engine.submit("reserve", input=payload)).id, schema


async def test_input_that_upstreams_complete_is_not_checked(declared: Engine) -> None:
    """Its other members are, and so are schedules when they are created."""
    bare, whole = NewExecution(kind="reserve"), NewExecution(kind="reserve", input=GOOD)
    edges = [Edge(source="a", target="b", input="number")]
    assert (await declared.graphs.submit({"a": whole, "b": bare}, edges)).id
    with pytest.raises(InvalidInput) as refused:
        await declared.graphs.submit({"a": bare, "b": bare}, edges)
    assert refused.value.context["field"] == "members[a].input.number"
    plan = NewSchedule(id="s", execution=bare, timing=Timing(every_ms=1_000))
    with pytest.raises(InvalidInput, match="number"):
        await declared.schedules.create(plan)
    made, _ = await declared.schedules.create(
        NewSchedule(id="s", execution=whole, timing=Timing(every_ms=1_000))
    )
    with pytest.raises(InvalidInput, match="number"):
        await declared.schedules.update(made.id, {"execution": bare})


async def test_one_wrong_item_does_not_refuse_the_others(declared: Engine) -> None:
    """Answers are in order."""
    items = [NewExecution(kind="reserve", input=one) for one in (GOOD, b"1", GOOD)]
    answers = await declared.submit_many(items)
    assert [isinstance(one, InvalidInput) for one in answers] == [False, True, False]


# Publishing


@pytest.mark.parametrize(
    ("about", "field"),
    [
        ({"options": {"priority": "high"}}, "reserve.options"),
        ({"options": {"priority": 10_000}}, "reserve.options.priority"),
        ({"options": {"colour": 1}}, "reserve.options.colour"),
        ({"options": [1]}, "reserve.options"),
        ({"lane": "no lane"}, "reserve.options.lane"),
        ({"input": "string"}, "reserve.input"),
    ],
)
async def test_a_description_that_makes_no_sense_is_refused(
    engine: Engine, about: dict[str, Any], field: str
) -> None:
    """The worker learns it, not whoever submits later."""
    with pytest.raises(InvalidInput) as refused:
        await engine.tasks.publish({"reserve": about})
    assert refused.value.context["field"] == field


async def test_what_cannot_be_read_is_passed_over(engine: Engine) -> None:
    """Such as what a later version has published."""
    await engine.store.tasks.publish({"reserve": {"options": {"priority": "high"}}})
    assert (await engine.describe((await engine.submit("reserve")).id)).priority == 0
    await engine.store.tasks.publish({"later": {"options": {"colour": 1, "priority": 3}}})
    assert (await engine.describe((await engine.submit("later")).id)).priority == 3


# Knowing them


async def test_submissions_do_not_ask_each_time(
    declared: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One read for all of a kind; none for items that say everything."""
    reads = 0
    read = declared.store.tasks.read

    async def counted(wanted: Any) -> Any:
        nonlocal reads
        reads += 1
        return await read(wanted)

    monkeypatch.setattr(declared.store.tasks, "read", counted)
    whole = NewExecution(kind="other", check=False, unset=frozenset())
    await declared.submit_many([whole] * 3)
    assert reads == 0
    for _ in range(3):
        await declared.submit_many([NewExecution(kind="reserve", input=GOOD)] * 3)
    assert reads == 1
    # What is published here is seen by the very next submission.
    await publish(declared, lane="next")
    made = await declared.submit("reserve", input=GOOD)
    assert (await declared.describe(made.id)).lane == "next"
    assert reads == 2


async def test_other_processes_learn_of_changes_at_once(real_url: str) -> None:
    """The store announces them."""
    async with open_engine(real_url) as here, open_engine(real_url) as there:
        for lane in ("one", "two"):
            await publish(there, options={}, lane=lane)

            async def is_seen(lane: str = lane) -> bool:
                made = await here.submit("reserve", input=GOOD)
                return (await here.describe(made.id)).lane == lane

            await wait_for(is_seen, timeout_s=5)
