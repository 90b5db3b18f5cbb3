"""Rules over HTTP."""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client.http import Http, path
from holdfast.model.quotas import Rule

EVERY_TENANT = "*"

T = TypeVar("T")


class RemoteRules(api.Rules):
    """Rules of one kind of limit."""

    def __init__(self, http: Http, limit: Literal["budget", "quota"]) -> None:
        self._http = http
        self._limit = limit

    @override
    async def attach(self, limit_id: str, **subject: str) -> Rule:
        return await self._send("attach", self._rule(limit_id, subject))

    @override
    async def detach(self, limit_id: str, **subject: str) -> Rule:
        return await self._send("detach", self._rule(limit_id, subject))

    async def _send(self, verb: str, rule: Rule) -> Rule:
        body = {"subject": rule.subject, "value": rule.value}
        await self._http.post(path(f"{rule.limit}s", rule.id, verb), body)
        return rule

    @override
    async def list(self) -> list[Rule]:
        reply = await self._http.get("/v1/rules")
        rules = msgspec.convert(reply["items"], list[Rule])
        return [rule for rule in rules if rule.limit == self._limit]
