"""The figures for Prometheus."""

from __future__ import annotations

import contextlib

import httpx
from prometheus_client.parser import text_string_to_metric_families

from holdfast.errors import QueueNotFound
from holdfast.model.pins import Finding
from holdfast.server.metrics import MOST_LANES, OTHER_LANES
from holdfast.testing.clock import Clock
from tests.server.conftest import Site
from tests.support.fault_injection import meanwhile

Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def figures(client: httpx.AsyncClient) -> Figures:
    """Read all figures."""
    text = (await client.get("/metrics")).text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Figures, name: str, **labels: str) -> float:
    return found["holdfast_" + name, frozenset(labels.items())]


async def test_the_life_of_work_is_measured(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """Queue delay apart from run time, depth, oldest age, calls."""
    for _ in range(3):
        await anyone.post("/v1/executions", json={"kind": "k", "lane": "mail"})
    await clock.advance(2_000)
    claimed = await anyone.post("/v1/workers/w/claim", json={"lanes": ["mail"]})
    (claim,) = claimed.json()["claims"]
    done = await anyone.post(
        f"/v1/executions/{claim['execution']['id']}/complete", json={"lease": claim["lease"]}
    )
    assert done.status_code == 200
    found = await figures(anyone)
    labels = {"method": "POST", "route": "/v1/executions", "status": "201"}
    assert value(found, "http_requests_total", **labels) == 3
    assert value(found, "claims_total", lane="mail", attempt="initial") == 1
    assert value(found, "queue_delay_seconds_sum", lane="mail") == 2
    assert value(found, "run_seconds_count", lane="mail", outcome="completed") == 1
    assert value(found, "executions", lane="mail", state="waiting") == 2
    assert value(found, "executions", lane="mail", state="completed") == 1
    assert value(found, "oldest_waiting_seconds", lane="mail") == 2
    assert value(found, "store_up") == 1
    assert value(found, "tick_lag_seconds") == 0


async def test_a_queue_that_is_removed_meanwhile_is_left_out(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """The others are counted, and the store is up."""
    queues = site.engine.queues
    for name in ("gone", "here"):
        await queues.define(name)

    async def remove() -> None:
        with contextlib.suppress(QueueNotFound):
            await queues.delete("gone")

    with meanwhile(site.engine.store.client, "hf_queue_stats", remove):
        found = await figures(anyone)
    assert value(found, "store_up") == 1
    names = {dict(labels)["queue"] for name, labels in found if name == "holdfast_queue_messages"}
    assert names == {"here"}


async def test_pins_are_counted_by_what_calls_found(site: Site, anyone: httpx.AsyncClient) -> None:
    """Each scrape adds what came since the last one."""
    counts = site.engine.router.pins.counts
    for hits in (2, 5):
        counts[Finding.HIT] = hits
        figures_now = await figures(anyone)
        assert value(figures_now, "pins_total", result="hit") == hits
        assert value(figures_now, "pins_total", result="skipped") == 0


async def test_lanes_cannot_flood_the_labels(site: Site, anyone: httpx.AsyncClient) -> None:
    """From a number on they share one."""
    items = [{"kind": "k", "lane": f"lane-{n}"} for n in range(MOST_LANES + 50)]
    await anyone.post("/v1/executions:batch", json={"items": items})
    found = await figures(anyone)
    lanes = {dict(labels)["lane"] for name, labels in found if name == "holdfast_executions"}
    assert len(lanes) == MOST_LANES + 1
    assert value(found, "executions", lane=OTHER_LANES, state="waiting") == 50


async def test_queues_are_counted(site: Site, anyone: httpx.AsyncClient) -> None:
    """What was pushed is the sum of the rest."""
    await anyone.put("/v1/queues/mail", json={"mode": "work"})
    items = [{"payload": number} for number in range(3)]
    await anyone.post("/v1/queues/mail/messages", json={"items": items})
    await anyone.post("/v1/queues/mail/read", json={"consumer": "c"})
    found = await figures(anyone)
    places = {
        dict(labels)["place"]: count
        for (name, labels), count in found.items()
        if name == "holdfast_queue_messages" and dict(labels)["queue"] == "mail"
    }
    assert (places.pop("pushed"), places["ready"], places["in_flight"]) == (3, 2, 1)
    assert sum(places.values()) == 3
