"""Budgets and what executions charge to them, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.api.budgets import DEFAULT_TTL_MS
from holdfast.client.beats import lease_body
from holdfast.client.http import Http, path
from holdfast.client.limits import RemoteLimits
from holdfast.client.rules import RemoteRules
from holdfast.model import checks
from holdfast.model.budgets import Breach, Budget, Charge, Expense, NewBudget, Reservation, Usage
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT

EVERY_TENANT = "*"

T = TypeVar("T")


@final
class RemoteBudgets(RemoteLimits, api.Budgets):
    """Operations on budgets."""

    def __init__(self, http: Http) -> None:
        super().__init__(http)
        self.spending: RemoteSpending = RemoteSpending(http)
        self.rules: RemoteRules = RemoteRules(http, "budget")

    @override
    async def _create(self, new: NewBudget) -> tuple[Budget, bool]:
        return await self._post_new("/v1/budgets", new, Budget)

    @override
    async def get(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        reply = await self._http.get(_budget(budget_id), tenant=self._whose(tenant))
        return msgspec.convert(reply, Budget)

    @override
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Budget], str | None]:
        return await self._page("/v1/budgets", Budget, tenant, limit, cursor)

    @override
    async def set(
        self, budget_id: str, limits: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Budget:
        query = {"tenant": self._whose(tenant)}
        response = await self._http.send(
            "PATCH", _budget(budget_id), body={"limits": limits}, query=query
        )
        return msgspec.json.decode(response.content, type=Budget)

    @override
    async def reset(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        return msgspec.convert(await self._post(_budget(budget_id, "reset"), tenant), Budget)

    @override
    async def report(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Charge:
        body = {"usage": usage, "key": new_id() if key is None else key}
        reply = await self._post(_budget(budget_id, "usage"), tenant, body)
        return msgspec.convert(reply, Charge)

    @override
    async def reserve(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str,
        ttl_ms: int = DEFAULT_TTL_MS,
        tenant: str = DEFAULT_TENANT,
    ) -> Reservation:
        body = {"usage": usage, "key": key, "ttl_ms": ttl_ms}
        reply = await self._post(_budget(budget_id, "reserve"), tenant, body)
        return msgspec.convert(reply, Reservation)

    @override
    async def settle(
        self, budget_id: str, usage: Usage, *, key: str, tenant: str = DEFAULT_TENANT
    ) -> Charge:
        body = {"usage": usage, "key": key}
        reply = await self._post(_budget(budget_id, "settle"), tenant, body)
        return msgspec.convert(reply, Charge)

    @override
    async def breaches(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Sequence[Breach]:
        reply = await self._http.get(_budget(budget_id, "breaches"), tenant=self._whose(tenant))
        return msgspec.convert(reply["items"], list[Breach])

    @override
    async def spent(
        self,
        execution_id: str,
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> dict[str, dict[str, int]]:
        reply = await self._http.get(_holder(execution_id, "usage"))
        return dict(reply["budgets"])

    @override
    async def total(self, tenant: str) -> dict[str, int]:
        reply = await self._http.get("/v1/budgets:total", tenant=checks.name("tenant", tenant))
        return dict(reply["usage"])


class RemoteSpending(api.Spending):
    """Charges by the holders of leases."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def _report(self, expense: Expense) -> Charge:
        return msgspec.convert(await self._ask(expense, "usage"), Charge)

    @override
    async def _reserve(self, expense: Expense, ttl_ms: int) -> Reservation:
        reply = await self._ask(expense, "usage", "reserve", ttl_ms=ttl_ms)
        return msgspec.convert(reply, Reservation)

    @override
    async def _settle(self, expense: Expense) -> Charge:
        return msgspec.convert(await self._ask(expense, "usage", "settle"), Charge)

    async def _ask(self, expense: Expense, *verb: str, **options: Any) -> Any:
        body = {"usage": expense.usage, "key": expense.key, "budget": expense.budget, **options}
        where = _holder(expense.execution_id, *verb)
        return await self._http.post(where, {"lease": lease_body(expense.lease), **body})


def _budget(budget_id: str, *rest: str) -> str:
    return path("budgets", checks.limit("budget", budget_id), *rest)


def _holder(execution_id: str, *rest: str) -> str:
    return path("executions", checks.execution_id("id", execution_id), *rest)
