"""Ways to the answers of budgets and quotas."""

from __future__ import annotations

import httpx

from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, about_nothing, by_example, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request

BUDGETS = "POST /v1/budgets"
SETTLE = "POST /v1/budgets/{id}/settle"
QUOTAS = "POST /v1/quotas"

way("reservation_not_found", SETTLE)(by_example)
for code, noun in (
    ("budget_not_found", "/v1/budgets/{id}"),
    ("quota_not_found", "/v1/quotas/{id}"),
):
    way(code, *(name for name in declaring(code) if noun in name))(about_nothing)


@way(200, BUDGETS, QUOTAS)
async def _twice(stage: Stage, name: str) -> Request:
    return await stage.sent(await stage.request(name, id=f"limit-{new_id()}"))


@way("budget_conflict", BUDGETS)
async def _other_limits(stage: Stage, name: str) -> Request:
    made, _ = await stage.engine.budgets.create(tenant=OURS, limits={})
    return await stage.request(name, id=made.id)


@way("budget_too_deep", BUDGETS)
async def _too_deep(stage: Stage, name: str) -> Request:
    parent = None
    for _ in range(8):
        made, _ = await stage.engine.budgets.create(tenant=OURS, limits={}, parent=parent)
        parent = made.id
    return await stage.request(name, parent=parent)


@way("budget_not_found", BUDGETS)
async def _no_parent(stage: Stage, name: str) -> Request:
    return await stage.request(name, parent="nothing")


@way(200, SETTLE)
async def _reserved(stage: Stage, name: str) -> Request:
    made, _ = await stage.engine.budgets.create(tenant=OURS, limits={})
    await stage.engine.budgets.reserve(made.id, {"tokens": 2_000}, key="call-17", tenant=OURS)
    return await stage.request(name, {"id": made.id})


@way("quota_not_found", QUOTAS)
async def _removed_meanwhile(stage: Stage, name: str) -> httpx.Response:
    quota_id = f"limit-{new_id()}"

    async def remove() -> None:
        await stage.engine.quotas.delete(quota_id, tenant=OURS)

    with stage.meanwhile("hf_quota_get", remove):
        return await stage.send(await stage.request(name, id=quota_id))


@way("quota_conflict", QUOTAS)
async def _other_caps(stage: Stage, name: str) -> Request:
    made, _ = await stage.engine.quotas.create(tenant=OURS, max_concurrent=1)
    return await stage.request(name, id=made.id)
