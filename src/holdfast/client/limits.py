"""Budgets and quotas over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from holdfast.client.beats import lease_body
from holdfast.client.http import Http, Remote, path
from holdfast.engine.budgets import Budgets
from holdfast.engine.quotas import Quotas
from holdfast.engine.rules import Rules
from holdfast.engine.spending import DEFAULT_TTL_MS, Spending
from holdfast.model import checks
from holdfast.model.budgets import Breach, Budget, Charge, OnHard, Reservation, Usage
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.quotas import Quota, Rule

EVERY_TENANT = "*"

T = TypeVar("T")


class _Remote(Remote):
    """What budgets and quotas have in common."""

    def __init__(self, http: Http, tenant: str | None) -> None:
        self._http = http
        self._tenant = tenant

    async def _create(
        self, where: str, limit_id: str | None, kind: type[T], body: dict[str, Any]
    ) -> tuple[T, bool]:
        """Create one, under an id of ours unless it has one, so that it is safe to repeat."""
        body["id"] = new_id() if limit_id is None else limit_id
        response = await self._http.send("POST", where, body=body)
        is_new = limit_id is None or response.created
        return msgspec.json.decode(response.content, type=kind), is_new

    async def _page(
        self, where: str, kind: type[T], tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[T], str | None]:
        whose = tenant or self._tenant or EVERY_TENANT
        reply = await self._http.get(where, tenant=whose, limit=limit, cursor=cursor)
        return msgspec.convert(reply["items"], list[kind]), reply["next_cursor"]  # type: ignore[valid-type]

    def _whose(self, tenant: str) -> str | None:
        """Return the tenant to name; that of the key needs no name."""
        return self._tenant if tenant == DEFAULT_TENANT else tenant

    async def _post(self, where: str, tenant: str, body: Any = None) -> Any:
        query = {"tenant": self._whose(tenant)}
        return (await self._http.send("POST", where, body=body, query=query)).decode()


class RemoteBudgets(_Remote, Budgets):
    """Operations on budgets."""

    def __init__(self, http: Http, tenant: str | None) -> None:
        super().__init__(http, tenant)
        self.spending: RemoteSpending = RemoteSpending(http)
        self.rules: RemoteRules = RemoteRules(http, "budget")

    async def create(
        self,
        budget_id: str | None = None,
        *,
        limits: Mapping[str, Any],
        tenant: str = DEFAULT_TENANT,
        parent: str | None = None,
        reset_ms: int | None = None,
        on_hard: str = OnHard.REFUSE,
    ) -> tuple[Budget, bool]:
        """Create a budget; returns it and whether it is new. Its id is minted if absent."""
        body: dict[str, Any] = {"limits": limits, "tenant": self._whose(tenant), "parent": parent}
        body |= {"reset_ms": reset_ms, "on_hard": on_hard}
        return await self._create("/v1/budgets", budget_id, Budget, body)

    async def get(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        """Return a budget with its usage."""
        reply = await self._http.get(_budget(budget_id), tenant=self._whose(tenant))
        return msgspec.convert(reply, Budget)

    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Budget], str | None]:
        """Return a page of budgets in the order of tenant and id, and the cursor to go on with."""
        return await self._page("/v1/budgets", Budget, tenant, limit, cursor)

    async def set_limits(
        self, budget_id: str, limits: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Budget:
        """Change limits by dimension; None removes a limit, what is not named stays."""
        query = {"tenant": self._whose(tenant)}
        response = await self._http.send(
            "PATCH", _budget(budget_id), body={"limits": limits}, query=query
        )
        return msgspec.json.decode(response.content, type=Budget)

    async def reset(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Budget:
        """Start again: nothing is used. What is reserved stays so."""
        return msgspec.convert(await self._post(_budget(budget_id, "reset"), tenant), Budget)

    async def report(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Charge:
        """Charge what was used, once per key: all of it, or nothing on a hard breach."""
        body = {"usage": usage, "key": new_id() if key is None else key}
        reply = await self._post(_budget(budget_id, "usage"), tenant, body)
        return msgspec.convert(reply, Charge)

    async def reserve(
        self,
        budget_id: str,
        usage: Usage,
        *,
        key: str,
        ttl_ms: int = DEFAULT_TTL_MS,
        tenant: str = DEFAULT_TENANT,
    ) -> Reservation:
        """Set amounts aside until they are settled or `ttl_ms` has passed, once per key."""
        body = {"usage": usage, "key": key, "ttl_ms": ttl_ms}
        reply = await self._post(_budget(budget_id, "reserve"), tenant, body)
        return msgspec.convert(reply, Reservation)

    async def settle(
        self, budget_id: str, usage: Usage, *, key: str, tenant: str = DEFAULT_TENANT
    ) -> Charge:
        """Charge what was used of a reservation, once; the rest returns."""
        body = {"usage": usage, "key": key}
        reply = await self._post(_budget(budget_id, "settle"), tenant, body)
        return msgspec.convert(reply, Charge)

    async def breaches(self, budget_id: str, *, tenant: str = DEFAULT_TENANT) -> Sequence[Breach]:
        """Return the last 100 breaches, oldest first."""
        reply = await self._http.get(_budget(budget_id, "breaches"), tenant=self._whose(tenant))
        return msgspec.convert(reply["items"], list[Breach])

    async def spent(
        self,
        execution_id: str,
        *,
        tenant: str = DEFAULT_TENANT,  # noqa: ARG002 - the server knows it
    ) -> dict[str, dict[str, int]]:
        """Return what an execution spent, by budget and dimension."""
        reply = await self._http.get(_holder(execution_id, "usage"))
        return dict(reply["budgets"])

    async def total(self, tenant: str) -> dict[str, int]:
        """Return what the budgets of a tenant were charged since the beginning, by dimension."""
        reply = await self._http.get("/v1/budgets:total", tenant=checks.name("tenant", tenant))
        return dict(reply["usage"])


class RemoteRules(Remote, Rules):
    """Rules of one kind of limit."""

    def __init__(self, http: Http, limit: Literal["budget", "quota"]) -> None:
        self._http = http
        self._limit = limit

    async def attach(self, limit_id: str, **subject: str) -> Rule:
        """Add a rule for one of tenant=, lane=, kind= or tag=; it may be there already."""
        return await self._send("attach", self._rule(limit_id, subject))

    async def detach(self, limit_id: str, **subject: str) -> Rule:
        """Remove a rule; executions that were submitted under it keep their limits."""
        return await self._send("detach", self._rule(limit_id, subject))

    async def _send(self, verb: str, rule: Rule) -> Rule:
        body = {"subject": rule.subject, "value": rule.value}
        await self._http.post(path(f"{rule.limit}s", rule.id, verb), body)
        return rule

    async def list(self) -> list[Rule]:
        """Return all rules of this kind of limit."""
        reply = await self._http.get("/v1/rules")
        found = msgspec.convert(reply["items"], list[Rule])
        return [rule for rule in found if rule.limit == self._limit]


class RemoteSpending(Remote, Spending):
    """Charges by the holders of leases."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def report(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str | None = None,
        budget: str | None = None,
    ) -> Charge:
        """Charge what an execution used to its budgets, or to one of them."""
        body = {"usage": usage, "key": new_id() if key is None else key, "budget": budget}
        return msgspec.convert(await self._ask(execution_id, lease, body, "usage"), Charge)

    async def reserve(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str,
        ttl_ms: int = DEFAULT_TTL_MS,
        budget: str | None = None,
    ) -> Reservation:
        """Set amounts aside in the budgets of an execution, in all of them or in none."""
        body = {"usage": usage, "key": key, "ttl_ms": ttl_ms, "budget": budget}
        reply = await self._ask(execution_id, lease, body, "usage", "reserve")
        return msgspec.convert(reply, Reservation)

    async def settle(
        self,
        execution_id: str,
        lease: Lease,
        usage: Usage,
        *,
        key: str,
        budget: str | None = None,
    ) -> Charge:
        """Charge what was used of a reservation; the rest returns."""
        body = {"usage": usage, "key": key, "budget": budget}
        reply = await self._ask(execution_id, lease, body, "usage", "settle")
        return msgspec.convert(reply, Charge)

    async def _ask(self, execution_id: str, lease: Lease, body: dict[str, Any], *verb: str) -> Any:
        where = _holder(execution_id, *verb)
        return await self._http.post(where, {"lease": lease_body(lease), **body})


class RemoteQuotas(_Remote, Quotas):
    """Operations on quotas."""

    def __init__(self, http: Http, tenant: str | None) -> None:
        super().__init__(http, tenant)
        self.rules: RemoteRules = RemoteRules(http, "quota")

    async def create(
        self,
        quota_id: str | None = None,
        *,
        tenant: str = DEFAULT_TENANT,
        window_ms: int | None = None,
        max_per_window: int | None = None,
        max_concurrent: int | None = None,
    ) -> tuple[Quota, bool]:
        """Create a quota; returns it and whether it is new. Its id is minted if absent."""
        body: dict[str, Any] = _caps(window_ms, max_per_window, max_concurrent)
        body["tenant"] = self._whose(tenant)
        return await self._create("/v1/quotas", quota_id, Quota, body)

    async def get(
        self, quota_id: str, *, value: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Quota:
        """Return a quota; `value` counts one value of the tag of its rule only."""
        whose = self._whose(tenant)
        reply = await self._http.get(_quota(quota_id), value=value, tenant=whose)
        return msgspec.convert(reply, Quota)

    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Quota], str | None]:
        """Return a page of quotas in the order of tenant and id, and the cursor to go on with."""
        return await self._page("/v1/quotas", Quota, tenant, limit, cursor)

    async def set(
        self,
        quota_id: str,
        *,
        window_ms: int | None = None,
        max_per_window: int | None = None,
        max_concurrent: int | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Quota:
        """Replace the limits of a quota; executions that wait start if there is room now."""
        body = _caps(window_ms, max_per_window, max_concurrent)
        query = {"tenant": self._whose(tenant)}
        response = await self._http.send("PUT", _quota(quota_id), body=body, query=query)
        return msgspec.json.decode(response.content, type=Quota)

    async def delete(self, quota_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Remove a quota and its rules: it limits nothing any more."""
        query = {"tenant": self._whose(tenant)}
        await self._http.send("DELETE", _quota(quota_id), query=query)


def _caps(
    window_ms: int | None, max_per_window: int | None, max_concurrent: int | None
) -> dict[str, Any]:
    return {
        "window_ms": window_ms,
        "max_per_window": max_per_window,
        "max_concurrent": max_concurrent,
    }


def _budget(budget_id: str, *rest: str) -> str:
    return path("budgets", checks.limit("budget", budget_id), *rest)


def _quota(quota_id: str) -> str:
    return path("quotas", checks.limit("quota", quota_id))


def _holder(execution_id: str, *rest: str) -> str:
    return path("executions", checks.execution_id("id", execution_id), *rest)
