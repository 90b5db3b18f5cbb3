"""Which veil lies over the answer to a call: by its key, and by the rules of its tenant.

Calls of workers, and of people without a key such as visitors of a web chat, get payloads as they
are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.errors import Forbidden, HoldfastError
from holdfast.model.api_keys import Role
from holdfast.model.sight import EVERY_KIND, Payloads, RedactionRule, paths_for
from holdfast.server.auth.identity import FRESH_S
from holdfast.server.http.declare import Bare, Scope
from holdfast.server.views.veil import CLEAR, Veil

if TYPE_CHECKING:
    from holdfast.engine import Engine
    from holdfast.model.executions import Execution
    from holdfast.server.http.call import Call

_OF_AN_EXECUTION = "/v1/executions/{id}"


class Veils:
    """Decides what each call's caller sees; the rules are at most `FRESH_S` old."""

    def __init__(self, engine: Engine) -> None:
        self._redactions = engine.redactions
        self._rules: tuple[Sequence[RedactionRule], float] | None = None

    async def of(
        self, call: Call, execution_id: str | None, known: Execution | None = None
    ) -> Veil:
        """Return the veil over the answer to a call; raise Forbidden if it could show nothing.

        Rules may be for one task, so the execution is read if the caller has not done that.
        """
        seen, route = call.identity.payloads, call.route
        for_workers = Role.WORKER in route.roles and route.method != "GET"
        if seen is Payloads.ALL or for_workers or route.scope is Scope.PUBLIC:
            return CLEAR
        if seen is Payloads.NONE:
            if route.bare is not None:
                raise Forbidden("this needs an API key that sees payloads")
            return Veil(opaque=True)
        rules = await self._current()
        if not rules:
            return CLEAR
        tenant, kind = call.tenant or call.identity.tenant, None
        depends = any(rule.kind != EVERY_KIND for rule in rules if rule.covers(tenant, None))
        if depends and execution_id is not None and route.path.startswith(_OF_AN_EXECUTION):
            found = known or await _found(call, execution_id)
            tenant, kind = (found.tenant, found.kind) if found else (tenant, kind)
        paths = paths_for(rules, tenant, kind)
        if paths and route.bare is Bare.EXACT:
            raise Forbidden(
                "this needs an API key that sees all payloads: rules redact parts of it"
            )
        return Veil(paths=paths)

    def forget(self) -> None:
        """Read the rules again for the next call: they have changed."""
        self._rules = None

    async def _current(self) -> Sequence[RedactionRule]:
        now = asyncio.get_running_loop().time()
        if self._rules is None or now - self._rules[1] >= FRESH_S:
            self._rules = (await self._redactions.list(), now)
        return self._rules[0]


async def _found(call: Call, execution_id: str) -> Execution | None:
    """Return an execution; None if the handler will refuse it anyway."""
    try:
        return await call.engine.describe(execution_id)
    except HoldfastError:
        return None
