"""Bad input at every entry of the engine: InvalidInput that names the field, nothing written."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.model.executions import Failure, Lease, NewExecution
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.servers import TestServer
from tests.support.dump import dump_keys

Call = Callable[[Engine], Awaitable[object]]

LEASE = Lease("x", 1, 0)
BOOM = Failure(type="Boom", message="boom")
BAD_IDS: list[Any] = ["", "a b", "a\nb", "x" * 257, 5, None, b"x"]
BAD_NAMES: list[Any] = ["", "a b", "a,b", "a|b", "a\nb", "x" * 129, 5, None]
BAD_REASONS: list[Any] = [5, None, "a\nb", "x" * 1025]
BAD_LEASE_MS: list[Any] = [0, -1, 999, 86_400_001, 1.5, True, "30000", math.nan, math.inf, None]
NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive on purpose

CASES: list[tuple[str, str, Call]] = []


def _add(label: str, field: str, values: list[Any], make: Callable[[Engine, Any], Any]) -> None:
    for number, value in enumerate(values):

        def call(engine: Engine, value: Any = value) -> Any:
            return make(engine, value)

        CASES.append((f"{label}-{number}", field, call))


for _name, _make in {
    "describe": lambda e, v: e.describe(v),
    "input": lambda e, v: e.input(v),
    "history": lambda e, v: e.history(v),
    "attempts": lambda e, v: e.attempts(v),
    "steps": lambda e, v: e.steps(v),
    "outcome": lambda e, v: e.outcome(v),
    "wait": lambda e, v: e.wait(v, timeout_s=1),
    "result": lambda e, v: e.result(v, timeout_s=1),
    "explain": lambda e, v: e.explain(v),
    "complete": lambda e, v: e.complete(v, LEASE),
    "fail": lambda e, v: e.fail(v, LEASE, BOOM),
    "delay": lambda e, v: e.delay(v, LEASE, 1),
    "progress": lambda e, v: e.progress(v, LEASE, 1),
    "checkpoint": lambda e, v: e.checkpoint(v, LEASE, "s", b""),
    "cancel": lambda e, v: e.cancel(v),
    "replay": lambda e, v: e.replay(v),
    "revoke": lambda e, v: e.revoke_lease(v),
    "prioritize": lambda e, v: e.prioritize(v, 1),
}.items():
    _add(_name, "id", BAD_IDS, _make)

_add("submit-kind", "kind", [*BAD_NAMES], lambda e, v: e.submit(v))
_add("submit-lane", "lane", BAD_NAMES, lambda e, v: e.submit("k", lane=v))
_add("submit-tenant", "tenant", BAD_NAMES, lambda e, v: e.submit("k", tenant=v))
_add("submit-id", "id", ["", "a b", 5], lambda e, v: e.submit("k", id=v))
_add("submit-requires", "requires[0]", BAD_NAMES, lambda e, v: e.submit("k", requires=[v]))
_add("submit-input", "input", ["text", None], lambda e, v: e.submit("k", input=v))
_add("submit-unknown", "execution.priorty", [1], lambda e, v: e.submit("k", priorty=v))
_add("submit-run_at", "run_at", [NOW, 5], lambda e, v: e.submit("k", run_at=v))
_add(
    "submit_many-size",
    "number of items",
    [[NewExecution(kind="k")] * 1001],
    lambda e, v: e.submit_many(v),
)
_add("submit_many-item", "items[1]", ["k", None, {"kind": "k"}],
     lambda e, v: e.submit_many([NewExecution(kind="k"), v]))  # fmt: skip
_add("renew-id", "execution", BAD_IDS, lambda e, v: e.renew([(v, LEASE)]))
_add("renew-lease_ms", "lease_ms", BAD_LEASE_MS, lambda e, v: e.renew([("x", LEASE)], v))
_add("renew-lease", "lease", [None, "x:1:0", 5], lambda e, v: e.renew([("x", v)]))
_add("complete-lease", "lease", [None, "x:1:0", 5], lambda e, v: e.complete("x", v))
_add("fail-failure", "failure", [None, "boom", BOOM.type], lambda e, v: e.fail("x", LEASE, v))
_add("complete-result", "result", ["text", None, 5, {}], lambda e, v: e.complete("x", LEASE, v))
_add("complete-large", "result", [b"x" * ((1 << 20) + 1)], lambda e, v: e.complete("x", LEASE, v))
_add(
    "complete-type",
    "content_type",
    ["a\nb", 5, "x" * 65],
    lambda e, v: e.complete("x", LEASE, content_type=v),
)
_add("delay-ms", "delay_ms", [-1, 1.5, True, "1", None, math.nan, 10**15],
     lambda e, v: e.delay("x", LEASE, v))  # fmt: skip
_add("progress-pct", "pct", [-1, 101, True, "1", None, math.nan, math.inf],
     lambda e, v: e.progress("x", LEASE, v))  # fmt: skip
_add("progress-message", "message", BAD_REASONS, lambda e, v: e.progress("x", LEASE, 1, v))
_add("checkpoint-step", "step", ["", "a\nb", 5, None, "x" * 257],
     lambda e, v: e.checkpoint("x", LEASE, v, b""))  # fmt: skip
_add("checkpoint-result", "result", ["t", None], lambda e, v: e.checkpoint("x", LEASE, "s", v))
_add("cancel-reason", "reason", BAD_REASONS, lambda e, v: e.cancel("x", v))
_add("revoke-reason", "reason", BAD_REASONS, lambda e, v: e.revoke_lease("x", v))
_add("replay-reason", "reason", BAD_REASONS, lambda e, v: e.replay("x", reason=v))
_add("replay-keep", "keep_steps", [1, "yes", None], lambda e, v: e.replay("x", keep_steps=v))
_add("replay-from", "from_step", ["", 5, "a\nb"], lambda e, v: e.replay("x", from_step=v))
_add("replay-both", "from_step", ["a"], lambda e, v: e.replay("x", from_step=v, keep_steps=True))
_add("prioritize", "priority", [1001, -1001, 1.5, True, "1", None, math.nan],
     lambda e, v: e.prioritize("x", v))  # fmt: skip
_add("wait-timeout", "timeout_s", ["1", math.nan, -1, True],
     lambda e, v: e.wait("x", timeout_s=v))  # fmt: skip
_add("list-limit", "limit", [0, -1, 1001, 1.5, True, "5", None], lambda e, v: e.list(limit=v))
_add("list-cursor", "cursor", ["x", "", 5, b"1.0"], lambda e, v: e.list(cursor=v))
_add("list-filter", "wanted", ["x", {"lane": "a"}], lambda e, v: e.list(v))
_add("count-tenant", "tenant", ["", "a b", 5], lambda e, v: e.count(v))
for _verb in ("pause", "resume", "drain"):
    _add(f"lane-{_verb}", "lane", BAD_NAMES,
         lambda e, v, verb=_verb: getattr(e.lanes, verb)(v))  # type: ignore[misc]  # fmt: skip
_add("weights-lane", "lane", BAD_NAMES, lambda e, v: e.lanes.set_weights(v, {"a": 1}))
_add("weights-tenant", "tenant", BAD_NAMES, lambda e, v: e.lanes.set_weights("l", {v: 1}))
_add("weights-value", "weights[a]", [0, -1, 1001, True, "1", math.nan, math.inf],
     lambda e, v: e.lanes.set_weights("l", {"a": v}))  # fmt: skip
_add("weights-type", "weights", [None, [("a", 1)], 5], lambda e, v: e.lanes.set_weights("l", v))
_add("keep-state", "state", ["done", "active", "", 5],
     lambda e, v: e.lanes.set_retention({v: 1}))  # fmt: skip
_add("keep-ms", "keep_ms[failed]", [-1, 1.5, True, "1", math.nan],
     lambda e, v: e.lanes.set_retention({"failed": v}))  # fmt: skip
_add("keep-tenant", "tenant", ["", "a b", "*", 5],
     lambda e, v: e.lanes.set_retention({"failed": 1}, tenant=v))  # fmt: skip
_add("keep-type", "keep_ms", [None, ["failed"], 5], lambda e, v: e.lanes.set_retention(v))

WORKER: dict[str, Any] = {"worker": "w", "lanes": ["l"]}
_add("worker-instance", "instance", BAD_NAMES, lambda e, v: e.workers.register(v, **WORKER))
_add("worker-drain", "instance", BAD_NAMES, lambda e, v: e.workers.drain(v))
_add("worker-remove", "instance", BAD_NAMES, lambda e, v: e.workers.remove(v))
for _field, _named, _values in (
    ("worker", "worker", BAD_NAMES),
    ("lanes", "lanes", [[], "l", None, 5, {"a": 1}, [f"l{n}" for n in range(65)]]),
    ("lanes", "lanes[0]", [[v] for v in BAD_NAMES]),
    ("capabilities", "capabilities", ["gpu", None, 5, [f"c{n}" for n in range(65)]]),
    ("capabilities", "capabilities[0]", [[v] for v in BAD_NAMES]),
    ("kinds", "kinds", ["k", 5, [f"k{n}" for n in range(10_001)]]),
    ("kinds", "kinds[0]", [[v] for v in ("", "a b", "a,b", "a|b", 5)]),
    ("slots", "slots", [0, -1, True, 1.5, "1", None, 100_001]),
    ("busy", "busy", [-1, True, 1.5, "1", None]),
    ("ttl_ms", "ttl_ms", BAD_LEASE_MS),
):
    _add(f"worker-{_named}", _named, list(_values),
         lambda e, v, f=_field: e.workers.register("i", **{**WORKER, f: v}))  # type: ignore[misc]  # fmt: skip


async def _claim(engine: Engine, claimer: dict[str, Any], claim: dict[str, Any]) -> None:
    async with engine.claimer(**{"worker": "w", **claimer}) as opened:
        await opened.claim(**{"limit": 1, "lease_ms": 30_000, **claim})


_add("claimer-worker", "worker", BAD_NAMES, lambda e, v: _claim(e, {"worker": v}, {}))
_add("claimer-lanes", "lanes", [[], "l", None], lambda e, v: _claim(e, {"lanes": v}, {}))
_add("claimer-lane", "lanes[0]", BAD_NAMES, lambda e, v: _claim(e, {"lanes": [v]}, {}))
_add("claimer-capability", "capabilities[0]", BAD_NAMES,
     lambda e, v: _claim(e, {"capabilities": [v]}, {}))  # fmt: skip
_add("claimer-kinds", "kinds", ["k", 5, [f"k{n}" for n in range(10_001)]],
     lambda e, v: _claim(e, {"kinds": v}, {}))  # fmt: skip
_add("claimer-kind", "kinds[0]", ["", "a b", "a,b", "a|b", 5],
     lambda e, v: _claim(e, {"kinds": [v]}, {}))  # fmt: skip
_add("claimer-tenant", "tenant", ["", "a b", 5], lambda e, v: _claim(e, {"tenant": v}, {}))
_add("claim-lease_ms", "lease_ms", BAD_LEASE_MS, lambda e, v: _claim(e, {}, {"lease_ms": v}))
_add("claim-limit", "limit", [0, -1, 1001, 1.5, True, "1", None, math.nan],
     lambda e, v: _claim(e, {}, {"limit": v}))  # fmt: skip
_add("claim-wait_ms", "wait_ms", [-1, 1.5, True, "1", None, math.nan, math.inf],
     lambda e, v: _claim(e, {}, {"wait_ms": v}))  # fmt: skip


@pytest.fixture
async def one_partition(single_store: Store) -> AsyncIterator[Engine]:
    """An engine with a waiting execution `x`, so that a call that passes its checks would write."""
    engine = Engine(single_store)
    await engine.submit("k", id="x")
    yield engine
    await engine.close()


@pytest.mark.parametrize(("field", "call"), [pytest.param(f, c, id=i) for i, f, c in CASES])
async def test_bad_input_is_refused_by_name_and_writes_nothing(
    field: str, call: Call, one_partition: Engine, single_server: TestServer
) -> None:
    """Each entry checks each argument before it calls the store."""
    before = dump_keys([single_server], one_partition.store.prefix)
    with pytest.raises(InvalidInput) as refused:
        await call(one_partition)
    assert refused.value.context["field"] == field
    assert dump_keys([single_server], one_partition.store.prefix) == before


async def test_good_input_passes(engine: Engine) -> None:
    """The checks above are not passed by refusing everything."""
    made = await engine.submit("k", requires=["gpu"], tags={"a": "b"}, tenant="acme")
    await _claim(engine, {"capabilities": ["gpu"], "tenant": "acme"}, {"lease_ms": 1_000})
    assert (await engine.describe(made.id)).state is State.ACTIVE
    await engine.cancel(made.id, "")
    await engine.replay(made.id, keep_steps=True)
    await engine.lanes.set_weights("default", {"acme": 0.5, "other": None})
    await engine.lanes.set_retention({"failed": 0, "completed": None}, tenant="acme")
    await engine.workers.register("i", **WORKER)
