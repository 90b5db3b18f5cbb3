"""A worker over HTTP whose charge passes a hard limit: suspended, answered, and back."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast import App, Client, Context
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.test_contract import code_of


async def active(client: httpx.AsyncClient, *budgets: str) -> tuple[str, Any]:
    """Submit an execution that spends and claim it; returns it and its lease."""
    made = await client.post("/v1/executions", json={"kind": "work", "budgets": budgets})
    assert made.status_code == 201, made.text
    return made.json()["id"], await reclaim(client)


async def reclaim(client: httpx.AsyncClient) -> Any:
    response = await client.post("/v1/workers/w/claim", json={"lanes": ["default"]})
    (claim,) = response.json()["claims"]
    return claim["lease"]


async def make_budget(client: httpx.AsyncClient, name: str, hard: int, **fields: Any) -> None:
    body = {"id": name, "limits": {"tokens": {"hard": hard}}, "on_hard": "suspend", **fields}
    response = await client.post("/v1/budgets", json=body)
    assert response.status_code == 201, response.text


async def spend(
    client: httpx.AsyncClient,
    one: str,
    lease: Any,
    tokens: int,
    *,
    verb: str = "usage",
    **more: Any,
) -> Any:
    body = {"lease": lease, "usage": {"tokens": tokens}, "key": "k", **more}
    response = await client.post(f"/v1/executions/{one}/{verb}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def answer(client: httpx.AsyncClient, point: str, payload: Any, name: str = "ok") -> Any:
    """Answer a waitpoint with its token."""
    execution = point.rpartition("~")[0]
    token = await client.get(f"/v1/executions/{execution}/waitpoints/{point}/token")
    assert token.status_code == 200, token.text
    body = {"token": token.json()["token"], "name": name, "payload": payload}
    return await client.post(f"/v1/signals/{point}", json=body)


async def limit(client: httpx.AsyncClient, name: str = "b") -> int:
    hard: int = (await client.get(f"/v1/budgets/{name}")).json()["limits"]["tokens"]["hard"]
    return hard


async def test_a_worker_that_spends_too_much_is_suspended(anyone: httpx.AsyncClient) -> None:
    """The answer says where it waits; a higher limit raises the budget before the next claim."""
    await make_budget(anyone, "b", 100)
    one, lease = await active(anyone, "b")
    breach = await spend(anyone, one, lease, 101)
    assert breach == {
        "status": "hard_breach",
        "budget": "b",
        "dimension": "tokens",
        "current": 0,
        "limit": 100,
        "on_hard": "suspend",
        "state": "suspended",
        "waitpoint": f"{one}~w1",
    }
    found = (await anyone.get(f"/v1/executions/{one}")).json()
    assert found["state"] == "suspended"
    assert await spend(anyone, one, lease, 101) == breach
    assert (await answer(anyone, breach["waitpoint"], {"limit": 5000})).json() == {
        "effect": "resumed"
    }
    assert await limit(anyone) == 5000
    back = await reclaim(anyone)
    assert (await spend(anyone, one, back, 101))["status"] == "ok"


async def test_what_is_set_aside_may_suspend_too(anyone: httpx.AsyncClient) -> None:
    """And its repetition gets the same answer."""
    await make_budget(anyone, "b", 100)
    one, lease = await active(anyone, "b")
    breach = await spend(anyone, one, lease, 101, verb="usage/reserve")
    assert (breach["state"], breach["waitpoint"]) == ("suspended", f"{one}~w1")
    assert await spend(anyone, one, lease, 101, verb="usage/reserve") == breach


async def test_a_used_up_budget_is_freed_by_the_answer(anyone: httpx.AsyncClient) -> None:
    """Nothing was left when it was answered, and it is admitted all the same."""
    await make_budget(anyone, "b", 100)
    one, lease = await active(anyone, "b")
    assert (await spend(anyone, one, lease, 100, key="k1"))["status"] == "ok"
    breach = await spend(anyone, one, lease, 1, key="k2")
    await answer(anyone, breach["waitpoint"], {"limit": 200})
    back = await reclaim(anyone)
    assert (await spend(anyone, one, back, 1, key="k2"))["status"] == "ok"


async def test_an_answer_is_checked_when_it_comes(anyone: httpx.AsyncClient) -> None:
    """What is no higher limit is refused, and the execution goes on waiting."""
    await make_budget(anyone, "b", 100)
    one, lease = await active(anyone, "b")
    point = (await spend(anyone, one, lease, 101))["waitpoint"]
    for wrong in (
        {"limit": "more"},
        {"limit": 1.5},
        {"limit": 100},
        {"limt": 7},
        {"limit": 2**53},
        7,
    ):
        assert code_of(await answer(anyone, point, wrong)) == (422, "invalid_payload")
    assert (await anyone.get(f"/v1/executions/{one}")).json()["state"] == "suspended"
    assert await limit(anyone) == 100


async def test_who_is_denied_more_is_refused(anyone: httpx.AsyncClient) -> None:
    """The limit stays, the lease stays, and nobody is asked again until the limit changes."""
    await make_budget(anyone, "b", 100)
    one, lease = await active(anyone, "b")
    point = (await spend(anyone, one, lease, 101))["waitpoint"]
    await answer(anyone, point, None, "deny")
    back = await reclaim(anyone)
    refused = await spend(anyone, one, back, 101)
    assert (refused["status"], "state" in refused) == ("hard_breach", False)
    await anyone.patch("/v1/budgets/b", json={"limits": {"tokens": {"hard": 100}}})
    assert "state" not in await spend(anyone, one, back, 102, key="other")
    await anyone.patch("/v1/budgets/b", json={"limits": {"tokens": {"hard": 101}}})
    assert (await spend(anyone, one, back, 102))["waitpoint"] == f"{one}~w2"


async def test_of_several_budgets_each_is_charged_once(anyone: httpx.AsyncClient) -> None:
    """What one of them refused has not used up the key in the other."""
    await make_budget(anyone, "b", 1000)
    await make_budget(anyone, "c", 100)
    one, lease = await active(anyone, "b", "c")
    breach = await spend(anyone, one, lease, 101)
    assert breach["budget"] == "c"
    await answer(anyone, breach["waitpoint"], {"limit": 500.0})
    back = await reclaim(anyone)
    assert (await spend(anyone, one, back, 101))["status"] == "ok"
    for name in ("b", "c"):
        found = (await anyone.get(f"/v1/budgets/{name}")).json()
        assert (found["usage"], found["reserved"]) == ({"tokens": 101}, {"tokens": 0})


async def test_a_limit_is_never_lowered_by_an_answer(anyone: httpx.AsyncClient) -> None:
    """Two executions ask; the smaller answer comes last."""
    await make_budget(anyone, "b", 100)
    points = []
    for _ in range(2):
        one, lease = await active(anyone, "b")
        points.append((await spend(anyone, one, lease, 101))["waitpoint"])
    await answer(anyone, points[0], {"limit": 900})
    await answer(anyone, points[1], {"limit": 300})
    assert await limit(anyone) == 900


async def test_a_worker_cannot_grant_itself_more(site: Site) -> None:
    """Its key may not read the token of the question; an operator's of the budget's tenant may."""
    async with site.client(await site.key("admin")) as admin:
        await make_budget(admin, "b", 100)
    async with (
        site.client(await site.key("worker", "submitter")) as worker,
        site.client(await site.key("operator")) as operator,
    ):
        one, lease = await active(worker, "b")
        point = (await spend(worker, one, lease, 101))["waitpoint"]
        where = f"/v1/executions/{one}/waitpoints/{point}/token"
        assert code_of(await worker.get(where)) == (403, "forbidden")
        assert (await answer(operator, point, {"limit": 200})).status_code == 200
        assert await limit(operator) == 200


async def test_an_operator_cannot_raise_the_budget_of_another_tenant(site: Site) -> None:
    """A budget that a rule put on a tenant is raised by those whose it is."""
    async with site.client(await site.key("admin", tenant=None)) as root:
        await make_budget(root, "b", 100, tenant=THEIRS)
        rule = {"subject": "tenant", "value": OURS}
        attached = await root.post(f"/v1/budgets/b/attach?tenant={THEIRS}", json=rule)
        assert attached.status_code < 300, attached.text
        async with site.client(await site.key("admin")) as ours:
            one, lease = await active(ours)
            point = (await spend(ours, one, lease, 101))["waitpoint"]
            where = f"/v1/executions/{one}/waitpoints/{point}/token"
            assert code_of(await ours.get(where)) == (403, "forbidden")
        assert (await answer(root, point, {"limit": 200})).status_code == 200


async def test_a_task_over_http_goes_on_when_more_is_granted(site: Site) -> None:
    """Its worker's key may not change budgets, and need not."""
    app = App()

    @app.task
    async def answer_all(ctx: Context) -> str:
        for n in range(4):
            await ctx.budget.report(tokens=100, key=f"k{n}")
        return "done"

    worker_key = await site.key("worker", "submitter")
    async with (
        site.client(await site.key("operator")) as operator,
        Client(site.url, key=worker_key) as client,
    ):
        await make_budget(operator, "b", 200)
        app.attach(client)
        async with app.worker():
            handle = await answer_all.options(budgets=["b"]).submit()

            async def waits() -> bool:
                return await handle.state() is State.SUSPENDED

            await wait_for(waits)
            assert (await answer(operator, f"{handle.id}~w1", {"limit": 5000})).status_code == 200
            assert await handle.result(timeout=20) == "done"
        assert (await operator.get("/v1/budgets/b")).json()["usage"] == {"tokens": 400}
