"""Workers of a revision of an app: they report that it is loaded, and keep children on it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.api import Engine
from holdfast.concurrency import stop
from holdfast.errors import Conflict, HoldfastError, NotOverHttp
from holdfast.model.deployments import Deployment
from holdfast.model.executions import Claim
from holdfast.model.revisions import Gate, Lifecycle, capability, revision_of
from holdfast.outages import level

if TYPE_CHECKING:
    from holdfast.worker.task import Task

log: logging.Logger = logging.getLogger(__name__)

_LOADS = Gate(name="loads", passed=True)
_PAUSE_S = 1.0


class ChildFields(TypedDict, total=False):
    """Options that a child gets from its parent."""

    tenant: str
    requires: Sequence[str]


def child_fields(claim: Claim, task: Task[Any, Any, Any]) -> ChildFields:
    """Return the tenant of a child, and the revision that it needs if it is of the same app."""
    fields: ChildFields = {"tenant": claim.tenant}
    revision = revision_of(claim.requires)
    if revision is not None and claim.kind in task.app.tasks:
        fields["requires"] = (*task.template.requires, capability(revision))
    return fields


@contextlib.asynccontextmanager
async def judging(engine: Engine, env: str, revision_id: str | None) -> AsyncIterator[None]:
    """While the block runs, pass the gates of a revision whenever it warms up.

    Enter it when the worker runs. A worker far from the store cannot watch deployments: an
    operator passes the gates there.
    """
    if revision_id is None:
        yield
        return
    watching = asyncio.ensure_future(_watch(engine, env, revision_id))
    try:
        yield
    finally:
        await stop(watching)


async def _watch(engine: Engine, env: str, revision_id: str) -> None:
    while True:
        try:
            async for changed in engine.deployments.watch(env):
                await _judge(engine, changed, revision_id)
        except NotOverHttp:
            log.info("run `holdfast revisions ready` when revision %s warms up", revision_id)
            return
        except HoldfastError as error:
            log.log(level(error), "revision %s: %s", revision_id, error)
        await asyncio.sleep(_PAUSE_S)


async def _judge(engine: Engine, changed: Sequence[Deployment], revision_id: str) -> None:
    for deployment in changed:
        revision = deployment.revision(revision_id)
        if revision is None or revision.lifecycle is not Lifecycle.WARMING:
            continue
        # Another worker may have judged it before.
        with contextlib.suppress(Conflict):
            await engine.deployments.judge(
                deployment.ref, revision_id, [_LOADS], seen=revision.version
            )
