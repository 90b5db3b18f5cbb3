"""The doctor, the snapshot, timelines and layouts over HTTP, and the commands that use them."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from typing import Any

import httpx
import pytest

from holdfast.cli.main import run
from holdfast.engine import Engine
from holdfast.model.executions import Failure, NewExecution
from holdfast.model.findings import Finding, Level, error, ok
from holdfast.model.graphs import Edge
from holdfast.model.services import ServiceStatus
from holdfast.operate import doctor, snapshot
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, THEIRS, Site
from tests.support.fault_injection import before_calls


async def _command(site: Site, *args: str) -> tuple[int, str, str]:
    """Run a command against the server."""
    out, err = io.StringIO(), io.StringIO()

    def go() -> int:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return run([*args, "--store", site.url])

    return await asyncio.to_thread(go), out.getvalue(), err.getvalue()


async def test_the_doctor_answers_an_operator(site: Site, operator: httpx.AsyncClient) -> None:
    """With the checks of the command line, in the words of the contract."""
    reply = (await operator.get("/v1/doctor")).json()
    findings = {finding["check"]: finding for finding in reply["findings"]}
    assert findings.keys() >= {
        *("server", "durability", "replication", "memory", "clock", "library", "partitions"),
        *("timers", "services", "workers", "limits", "schedules", "queues", "archive"),
    }
    assert findings["server"]["level"] == "ok"
    assert "fix" not in findings["server"]
    # Servers of tests have no append-only file.
    assert findings["durability"]["level"] == "error"
    assert "appendonly yes" in findings["durability"]["fix"]


@pytest.mark.parametrize(("role", "tenant"), [("viewer", None), ("worker", None), ("admin", OURS)])
async def test_the_doctor_answers_nobody_else(site: Site, role: str, tenant: str | None) -> None:
    """Neither a key without the role nor a key of one tenant."""
    async with site.client(await site.key(role, tenant=tenant)) as client:
        assert (await client.get("/v1/doctor")).status_code == 403


async def test_the_doctor_hides_logins(
    operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message of a library may contain a URL with a password."""

    async def check(_engine: Engine) -> list[Finding]:
        return [error("archive", "no s3://me:s3cret@h", "ask valkey://u:s3cret@h"), ok("x", "y")]

    monkeypatch.setattr(doctor, "check", check)
    shown = await operator.get("/v1/doctor")
    assert "s3cret" not in shown.text
    assert [finding["level"] for finding in shown.json()["findings"]] == ["error", "ok"]


async def test_a_check_that_hangs_becomes_a_finding(engine: Engine) -> None:
    """The others are answered; the whole takes as long as one check may."""

    async def hang(command: Any) -> None:
        if "hf_service_list" in command:
            await asyncio.sleep(60)

    with before_calls(engine.store.client, hang):
        findings = await doctor.check(engine, within_s=2.5)
    levels = {finding.check: finding for finding in findings}
    assert levels["services"].level is Level.ERROR
    assert levels["services"].text == "no answer within 2.5 s"
    assert levels["partitions"].level is Level.OK


async def test_the_command_asks_the_server(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It exits with 1 for an unsound store, as near it; repairs need the store itself."""
    monkeypatch.setenv("HOLDFAST_KEY", await site.key("operator", tenant=None))
    code, out, _ = await _command(site, "doctor", "--json")
    reply = json.loads(out)
    assert (code, reply["sound"], reply["store"]) == (1, False, site.url)
    assert {"check", "level", "text", "fix"} == reply["findings"][0].keys()
    code, out, _ = await _command(site, "doctor")
    assert "  ERROR    durability" in out
    for option in ("--fix", "--drift"):
        code, _, err = await _command(site, "doctor", option)
        assert (code, "(not_over_http)" in err) == (2, True)


async def _busy(engine: Engine) -> str:
    """Fill a store with one thing of each sort for two tenants; returns the oldest of ours."""
    oldest = (await engine.submit("work", tenant=OURS, lane="mail")).id
    await Clock(engine.store).advance(2_000)
    await engine.submit("work", tenant=THEIRS)
    for tenant in (OURS, THEIRS):
        await engine.workers.register(f"w-{tenant}", worker="w", lanes=["mail"], tenant=tenant)
        await engine.queues.define(f"{tenant}/orders", mode="work")
        await engine.queues.push(f"{tenant}/orders", b"1")
    await engine.lanes.pause("mail")
    status = ServiceStatus(name="ticker", running=False, last_error="E: valkey://u:s3cret@h")
    await engine.store.services.report("host.1.ab", [status], 60_000)
    return oldest


async def test_the_snapshot_of_a_store(site: Site, operator: httpx.AsyncClient) -> None:
    """Counts by state, lane and queue, the oldest that waits, workers and services."""
    oldest = await _busy(site.engine)
    response = await operator.get("/v1/snapshot")
    view = response.json()
    assert view["counts"] == {"waiting": 2}
    assert view["lanes"] == [
        {"lane": "default", "setting": "open", "counts": {"waiting": 1}},
        {"lane": "mail", "setting": "paused", "counts": {"waiting": 1}},
    ]
    assert view["oldest_waiting"]["id"] == oldest
    assert [worker["instance"] for worker in view["workers"]] == ["w-ours", "w-theirs"]
    assert [(queue["tenant"], queue["name"], queue["ready"]) for queue in view["queues"]] == [
        (OURS, "orders", 1),
        (THEIRS, "orders", 1),
    ]
    (process,) = [one for one in view["services"] if one["name"] == "host.1.ab"]
    assert process["services"][0]["running"] is False
    assert "s3cret" not in response.text
    assert (view["more_workers"], view["more_queues"]) == (False, False)


async def test_a_tenant_sees_its_own_snapshot(site: Site) -> None:
    """Nothing of others, and no services."""
    await _busy(site.engine)
    async with site.client(await site.key("viewer")) as client:
        view = (await client.get("/v1/snapshot")).json()
    assert view["counts"] == {"waiting": 1}
    assert [lane["lane"] for lane in view["lanes"]] == ["mail"]
    assert [worker["instance"] for worker in view["workers"]] == ["w-ours"]
    assert [queue["tenant"] for queue in view["queues"]] == [OURS]
    assert view["services"] == []


async def test_a_snapshot_is_bounded(
    site: Site, operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that there is more than it shows."""
    await _busy(site.engine)
    monkeypatch.setattr(snapshot, "MOST_WORKERS", 1)
    monkeypatch.setattr(snapshot, "MOST_QUEUES", 1)
    view = (await operator.get("/v1/snapshot")).json()
    assert (len(view["workers"]), len(view["queues"])) == (1, 1)
    assert (view["more_workers"], view["more_queues"]) == (True, True)


async def test_top_shows_a_server(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """From one call for each look."""
    await _busy(site.engine)
    monkeypatch.setenv("HOLDFAST_KEY", await site.key("viewer", tenant=None))
    code, out, err = await _command(site, "top", "--once", "--json")
    assert code == 0, err
    view = json.loads(out)
    assert view["counts"] == {"waiting": 2}
    assert [queue["queue"] for queue in view["queues"]] == ["ours/orders", "theirs/orders"]
    code, out, _ = await _command(site, "top", "--once")
    assert "ours/orders" in out
    assert "service ticker of host.1.ab is restarting" in out


async def test_the_timeline_of_an_execution(site: Site, operator: httpx.AsyncClient) -> None:
    """Attempts and steps, between 0 and 1."""
    engine = site.engine
    made = await engine.submit("work")
    async with engine.claimer(worker="w1") as claimer:
        (claim,) = await claimer.claim(1, 60_000)
    await engine.checkpoint(made.id, claim.lease, "charge", b"1")
    await engine.fail(made.id, claim.lease, Failure(type="Busy", message="later"))
    view = (await operator.get(f"/v1/executions/{made.id}/timeline")).json()
    (bar,) = view["bars"]
    assert (bar["index"], bar["worker"], bar["outcome"]) == (0, "w1", "failed: Busy: later")
    assert 0 <= bar["start"] <= bar["end"] <= 1
    assert [mark["step"] for mark in view["marks"]] == ["charge"]
    assert (await operator.get("/v1/executions/none/timeline")).status_code == 404


async def test_the_layout_of_a_graph(site: Site, operator: httpx.AsyncClient) -> None:
    """Every edge goes to a later layer."""
    members = {key: NewExecution(kind="work") for key in ("a", "b", "c")}
    edges = [Edge(source="a", target="c"), Edge(source="b", target="c")]
    graph = await site.engine.graphs.submit(members, edges)
    view = (await operator.get(f"/v1/graphs/{graph.id}/layout")).json()
    places = {node["key"]: (node["layer"], node["place"]) for node in view["nodes"]}
    assert places == {"a": (0, 0), "b": (0, 1), "c": (1, 0)}
    assert (view["layers"], view["width"]) == (2, 2)
    edge = view["edges"][0]
    assert len(edge.pop("points")) == 2
    assert edge == {"from": "a", "to": "c", "on": "success"}
