"""hf_webhook_ending."""

from __future__ import annotations

from holdfast.engine.engine import Engine
from holdfast.model.executions import NewExecution
from holdfast.store.webhooks import Ending
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one

URL = "https://hooks.example/done"


async def test_an_execution_and_a_graph(engine: Engine, clock: Clock, dump: Dump) -> None:
    """Before and after their end; without a webhook there is no address."""
    one = (await engine.submit("k", tenant="acme", on_end=URL)).id
    graph = await engine.graphs.submit({"a": NewExecution(kind="k")}, on_end=URL)
    before = Ending(tenant="acme", state="waiting", ended_ms=None, url=URL)
    assert await engine.store.webhooks.ending("execution", one) == before
    for execution_id in (one, f"{graph.id}~a"):
        claim = await claim_one(engine.store, execution_id)
        await engine.complete(claim.id, claim.lease)
    data = dump()
    after = Ending(tenant="acme", state="completed", ended_ms=clock.now_ms, url=URL)
    assert await engine.store.webhooks.ending("execution", one) == after
    found = await engine.store.webhooks.ending("graph", graph.id)
    assert found is not None
    assert (found.tenant, found.state, found.url) == ("default", "completed", URL)
    plain = await engine.store.webhooks.ending("execution", f"{graph.id}~a")
    assert plain is not None
    assert (plain.url, plain.ended_ms) == (None, clock.now_ms)
    assert dump() == data


async def test_unknown_ones(engine: Engine) -> None:
    """Neither an execution nor a graph."""
    assert await engine.store.webhooks.ending("execution", "nobody") is None
    assert await engine.store.webhooks.ending("graph", "nobody") is None
