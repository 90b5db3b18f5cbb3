"""Limits that code declares, compared with those in the store."""

from __future__ import annotations

import asyncio

from holdfast.errors import InvalidInput, NotFound
from holdfast.model import declared_limits, names
from holdfast.model.declared_limits import DeclaredLimit
from holdfast.model.findings import Finding, ok, warning
from holdfast.store.engine import StoreEngine

_AT_ONCE = 100
#: The most differences in a finding, so that its length is bounded.
_MOST_SHOWN = 10


async def limits(engine: StoreEngine) -> Finding:
    """Find quotas and budgets that differ from what the code of workers declares."""
    declared = await _declared(engine)
    differing: list[str] = []
    for start in range(0, len(declared), _AT_ONCE):
        part = declared[start : start + _AT_ONCE]
        looks = (_differences(engine, name, limit) for name, limit in part)
        differing += [line for lines in await asyncio.gather(*looks) for line in lines]
    if differing:
        rest = len(differing) - _MOST_SHOWN
        text = "; ".join(differing[:_MOST_SHOWN]) + (f"; and {rest} more" if rest > 0 else "")
        fix = (
            "workers create missing limits and never change existing ones: set the limit with "
            "`holdfast quotas set` or `holdfast budgets set`, or change the code"
        )
        return warning("limits", text, fix)
    return ok("limits", f"{len(declared)} declared in code, as in the store")


async def _declared(engine: StoreEngine) -> list[tuple[str, DeclaredLimit]]:
    """Return the declared limits, each once, with the names they are stored under."""
    declared = {}
    for (tenant, kind), description in (await engine.store.tasks.everything()).items():
        try:
            published = declared_limits.read(kind, description)
        except InvalidInput:
            # Another version published it.
            continue
        for limit in published:
            name = names.stored(tenant or names.DEFAULT_TENANT, limit.id)
            declared[limit.noun, name] = limit
    return [(name, limit) for (_, name), limit in sorted(declared.items())]


async def _differences(engine: StoreEngine, name: str, limit: DeclaredLimit) -> list[str]:
    about = f"{limit.noun} {name}"
    try:
        if limit.noun == "quota":
            lines = limit.differences(await engine.quotas.get(name))
        else:
            lines = limit.differences(await engine.budgets.get(name))
    except NotFound:
        return [f"{about} does not exist"]
    return [f"{about}: {line}" for line in lines]
