"""Differences: two executions, two attempts, or two revisions side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast import errors
from holdfast.host.packs import load_archive
from holdfast.host.packs.comparing import content_of
from holdfast.host.packs.signatures import ANYBODY
from holdfast.model import bounds
from holdfast.model.deployments import Deployment
from holdfast.model.executions import Execution
from holdfast.model.revisions import Revision
from holdfast.operate import differences
from holdfast.operate.differences import Difference, Differences
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Routes
from holdfast.server.routes.deployments import FIND_REVISION, ONE, named
from holdfast.server.views.fields import Key, Name, Query, View
from holdfast.server.views.veil import Veil

routes: Routes = Routes("differences", "Two executions, attempts or revisions side by side.")

Index = Annotated[int, Meta(ge=0, le=bounds.AMOUNT)]
#: What two executions are compared by, beside their payloads.
_FIELDS = (
    *("kind", "state", "lane", "priority", "requires", "tags", "budgets", "quotas"),
    *("attempts", "error", "reason"),
)


class DifferenceView(View):
    """One place in which two things differ."""

    #: Keys and positions from the outside in.
    path: tuple[str, ...]
    #: `added`, `removed` or `changed`.
    change: str
    before: Any
    after: Any

    @classmethod
    def of(cls, found: Difference) -> DifferenceView:
        """Show a difference."""
        return cls(path=found.path, change=found.change, before=found.before, after=found.after)


class DifferencesView(View):
    """The first differences, and how many there are in all."""

    items: list[DifferenceView]
    total: int

    @classmethod
    def of(cls, found: Differences) -> DifferencesView:
        """Show differences."""
        return cls(items=[DifferenceView.of(one) for one in found.items], total=found.total)


class DiffQuery(Query):
    """With what; with attempts, these are compared instead of the executions."""

    #: Another execution of the same tenant; by default the same one.
    other: Key | None = None
    attempt: Index | None = None
    other_attempt: Index | None = None


@routes.get("/v1/executions/{id}/diff", owner=EXECUTION, errors=CHANGING)
async def compare(call: Call, id: str, query: DiffQuery) -> DifferencesView:
    """Compare an execution with another one: options, input, steps, result and error.

    With `attempt` and `other_attempt`, compare two attempts, of the same execution or of two. What
    the caller does not see of payloads is not compared.
    """
    found = {id: await call.engine.describe(id)}
    other = id if query.other is None else call.stored_id(query.other)
    if other not in found:
        found[other] = await call.engine.describe(other)
    if call.tenant not in (None, found[other].tenant):
        message = f"no execution has the id {query.other}"
        raise errors.ExecutionNotFound(message, id=query.other)
    # Each is compared as the caller sees it; rules may be for the task of one of them.
    veils = {one: await call.services.veils.of(call, one, found[one]) for one in found}
    if query.attempt is None or query.other_attempt is None:
        read = [_execution(call, found[one], veils[one]) for one in (id, other)]
    else:
        sides = ((id, query.attempt), (other, query.other_attempt))
        read = [_attempt(call, one, veils[one], index) for one, index in sides]
    return DifferencesView.of(differences.of(*await asyncio.gather(*read)))


async def _execution(call: Call, described: Execution, veil: Veil) -> dict[str, Any]:
    engine = call.engine
    given, steps, outcome = await asyncio.gather(
        engine.input(described.id), engine.steps(described.id), engine.outcome(described.id)
    )
    found = {name: msgspec.to_builtins(getattr(described, name)) for name in _FIELDS}
    found["error"] = _error(veil, described.error)
    found["input"] = _decoded(veil.over_bytes(given))
    found["steps"] = {step.name: _decoded(veil.over_bytes(step.result)) for step in steps}
    if outcome is not None and outcome.result is not None:
        found["result"] = _decoded(veil.over_bytes(outcome.result))
    return found


async def _attempt(call: Call, execution_id: str, veil: Veil, index: int) -> dict[str, Any]:
    for attempt in await call.engine.attempts(execution_id):
        if attempt.index == index:
            took = None if attempt.ended_at is None else attempt.ended_at - attempt.started_at
            return {
                "outcome": attempt.outcome,
                "worker": attempt.worker,
                "error": _error(veil, attempt.error),
                "took_ms": None if took is None else round(took.total_seconds() * 1000),
            }
    message = f"attempt: {execution_id} has no attempt {index}"
    raise errors.InvalidInput(message, field="attempt")


def _error(veil: Veil, error: Mapping[str, Any] | None) -> Any:
    return _decoded(msgspec.json.encode(veil.error(error)))


def _decoded(payload: bytes) -> Any:
    """Return a payload as its value, or how long it is if it is not JSON."""
    try:
        return msgspec.json.decode(payload) if payload else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"{len(payload)} bytes"


class RevisionDiffQuery(TenantQuery):
    """With which revision; by default the one that was staged before."""

    other: Name | None = None


@routes.get(
    ONE + "/revisions/{r}/diff",
    errors=(*FIND_REVISION, errors.PackNotFound),
)
async def compare_revisions(
    call: Call, env: str, d: str, r: str, query: RevisionDiffQuery
) -> DifferencesView:
    """Compare a revision with another one of its deployment, or with the one before it.

    That is the config, the files, and in flows each node. YAML files are compared by their values,
    other files by their digests.
    """
    deployment = await call.engine.deployments.get(named(call, env, d, query))
    revision = _of(deployment, r)
    earlier = [one for one in deployment.revisions if one.number < revision.number]
    other = _of(deployment, query.other) if query.other else max(earlier, key=_number, default=None)
    before = {} if other is None else await _revision(call, other)
    return DifferencesView.of(differences.of(before, await _revision(call, revision)))


def _number(revision: Revision) -> int:
    return revision.number


def _of(deployment: Deployment, name: str) -> Revision:
    revision = deployment.revision(name)
    if revision is None:
        message = f"deployment {deployment.id} has no revision {name}"
        raise errors.RevisionNotFound(message, revision=name)
    return revision


async def _revision(call: Call, revision: Revision) -> dict[str, Any]:
    found: dict[str, Any] = {"config": dict(revision.config)}
    for archive in revision.archives:
        data = await call.engine.packs.archive(archive)
        pack = await asyncio.to_thread(load_archive, data, ANYBODY, quiet=True)
        found[pack.id] = await asyncio.to_thread(content_of, pack)
    return found
