"""The gates of a warm-up: what must hold before a revision that has loaded gets conversations."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.errors import BudgetNotFound
from holdfast.host.providers import Providers
from holdfast.model import bounds
from holdfast.model.revisions import Gate
from holdfast.worker.app import App

LOADS, SIGNATURES, PROVIDERS = "loads", "signatures", "providers"


async def judged(engine: Engine, app: App, providers: Providers) -> list[Gate]:
    """Return the gates of a revision that has loaded: its app, and the providers of its packs."""
    unpaid = await _unpaid(engine, app, providers.tenant)
    gates = [_gate(LOADS, unpaid), _gate(SIGNATURES, None)]
    if providers.nodes.all:
        gates.append(_gate(PROVIDERS, await providers.ailing()))
    return gates


async def _unpaid(engine: Engine, app: App, tenant: str) -> str | None:
    """Return which budget of a flow the tenant lacks: no message could start that flow."""
    for task in app.tasks.values():
        for name in task.template.budgets:
            try:
                await engine.budgets.get(name, tenant=tenant)
            except BudgetNotFound:
                words = f"the flow {task.name} spends from the budget {name}"
                return f"{words}, which the tenant lacks: `holdfast budgets create {name}`"
    return None


def _gate(name: str, problem: str | None) -> Gate:
    return Gate(name=name, passed=problem is None, reason=(problem or "")[: bounds.REASON_CHARS])
