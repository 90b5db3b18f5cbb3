"""What the doctor says of revisions that drain."""

from __future__ import annotations

from holdfast.model.findings import Finding, ok, warning
from holdfast.store.engine import StoreEngine

#: The most drains in a finding, so that its length is bounded.
_MOST_NAMED = 5


async def drains(engine: StoreEngine) -> Finding:
    """Find drains that have passed their deadline."""
    found = await engine.store.deployments.drains()
    overdue = [drain for drain in found if drain.is_overdue]
    if not overdue:
        return ok("drains", f"{len(found)} revisions drain, none is overdue" if found else "none")
    words = []
    for drain in overdue[:_MOST_NAMED]:
        ref = drain.deployment
        tenant = ref.tenant or ""
        needs = (await engine.store.needs.count(tenant, [drain.revision]))[drain.revision]
        oldest = f", the oldest since {needs.oldest_wait:%F %T}" if needs.oldest_wait else ""
        words.append(
            f"revision {drain.revision} of {ref.label} ({needs.running} executions run, "
            f"{needs.waiting} wait{oldest})"
        )
    rest = len(overdue) - len(words)
    text = f"overdue: {'; '.join(words)}" + (f" and {rest} more" if rest > 0 else "")
    fix = (
        "a server, worker or host ends what is left within about a minute; if none does, start "
        "one. `holdfast revisions needs` lists it"
    )
    return warning("drains", text, fix)
