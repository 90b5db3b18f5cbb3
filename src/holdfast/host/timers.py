"""Schedules of packs: they belong to one revision of a deployment, to which most sessions go."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from holdfast.api import Engine
from holdfast.model.deployments import SCHEDULED_BY, Deployment, DeploymentRef
from holdfast.model.revisions import capability
from holdfast.model.schedules import NewSchedule

_SHOWN_CHARS = 80
_DIGEST_CHARS = 10
_PAGE = 100


def owner_of(deployment: Deployment) -> str | None:
    """Return the revision that owns the schedules: of the largest weight, and then the latest."""
    numbers = {one.id: one.number for one in deployment.revisions}
    routable = [entry for entry in deployment.split.entries if entry.weight_bps]
    if not routable:
        return None
    return max(routable, key=lambda one: (one.weight_bps, numbers.get(one.revision, 0))).revision


def plans_of(
    ref: DeploymentRef, revision_id: str, declared: Iterable[NewSchedule]
) -> list[NewSchedule]:
    """Return the schedules that packs declare, for one revision of a deployment.

    A schedule keeps its id from revision to revision, so that a paused one stays paused.
    """
    return [
        replace(
            plan,
            id=_id(ref, plan.id),
            execution=replace(
                plan.execution,
                tenant=ref.tenant or plan.execution.tenant,
                requires=(*plan.execution.requires, capability(revision_id)),
                tags={**plan.execution.tags, SCHEDULED_BY: ref.label},
            ),
        )
        for plan in declared
    ]


async def take_over(engine: Engine, ref: DeploymentRef, plans: list[NewSchedule]) -> None:
    """Put the schedules of a revision in place of those that the deployment had."""
    for plan in plans:
        await engine.schedules.put(plan)
    kept = {plan.id for plan in plans}
    cursor: str | None = None
    while True:
        page = await engine.schedules.list(tenant=ref.tenant, limit=_PAGE, cursor=cursor)
        for schedule in page.items:
            if (
                schedule.plan.execution.tags.get(SCHEDULED_BY) == ref.label
                and schedule.plan.id not in kept
            ):
                await engine.schedules.delete(schedule.plan.id, tenant=ref.tenant or "default")
        cursor = page.next_cursor
        if cursor is None:
            return


def _id(ref: DeploymentRef, name: str) -> str:
    """Return an id that is readable, and that no other deployment has."""
    digest = hashlib.sha256(msgspec.json.encode((ref.env, ref.id, name))).hexdigest()
    return f"{name[:_SHOWN_CHARS]}.{digest[:_DIGEST_CHARS]}"
