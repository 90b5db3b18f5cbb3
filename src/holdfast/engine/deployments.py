"""Deployments: every operation, checked at its entry."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import final

import msgspec
from typing_extensions import override

from holdfast.api import deployments
from holdfast.engine.schedules import Schedules
from holdfast.engine.waiters import news_or_poll
from holdfast.errors import DeploymentNotFound, InvalidInput, SessionNotFound
from holdfast.model import bounds, calls, checks
from holdfast.model.deployments import (
    SCHEDULED_BY,
    Deployment,
    DeploymentEvent,
    DeploymentPage,
    DeploymentRef,
    NewDeployment,
    RouteExplanation,
    Split,
    SplitEntry,
    check_entries,
)
from holdfast.model.figures import WINDOW_MS, Figures
from holdfast.model.forecasts import Forecast, foretell
from holdfast.model.ids import new_id
from holdfast.model.revisions import (
    Gate,
    Lifecycle,
    NeedPage,
    NewRevision,
    Revision,
    check_revision,
)
from holdfast.model.sessions import SessionState
from holdfast.routing import Candidate, Router, RoutingTable, StorePins
from holdfast.store import channels
from holdfast.store.deployments import revision_in
from holdfast.store.needs import with_needs
from holdfast.store.store import Store

#: A failover can lose notifications, so a watcher also looks this often.
_POLL_S = 5.0
#: Deployments that one call reads.
_PAGE = 100
#: Nothing can have started on a revision in these states, or can still run.
_UNUSED = frozenset({Lifecycle.STAGED, Lifecycle.FAILED, Lifecycle.ARCHIVED})


@final
class Deployments(deployments.Deployments):
    """Deployments on an open store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._deployments = store.deployments
        self._needs = store.needs
        self._router = Router(StorePins(store))

    @override
    async def create(self, new: NewDeployment) -> tuple[Deployment, bool]:
        checks.instance("deployment", new, NewDeployment)
        created = await self._deployments.create(new)
        ref = DeploymentRef(env=new.env, id=new.id, tenant=new.tenant)
        return await self.get(ref), created

    @override
    async def get(self, ref: DeploymentRef) -> Deployment:
        (counted,) = await self._counted([await self._deployments.get(ref)])
        return counted

    async def _counted(self, found: Sequence[Deployment]) -> tuple[Deployment, ...]:
        """Return deployments with what needs their revisions: one count for each tenant."""
        started: dict[str, builtins.list[str]] = {}
        for one in found:
            used = [revision.id for revision in one.revisions if revision.lifecycle not in _UNUSED]
            started.setdefault(one.tenant, []).extend(used)
        counts = await asyncio.gather(*(self._needs.count(*one) for one in started.items()))
        needs = dict(zip(started, counts, strict=True))
        return tuple(with_needs(one, needs[one.tenant]) for one in found)

    @override
    async def set_restart_text(self, ref: DeploymentRef, text: str) -> Deployment:
        checks.text("text", text, bounds.REASON_CHARS, empty=False)
        await self._deployments.set_restart(ref, text)
        return await self.get(ref)

    @override
    async def delete(self, ref: DeploymentRef) -> None:
        # If this dies halfway, the call can be repeated. The removal knows one that it answered.
        with contextlib.suppress(DeploymentNotFound):
            await self._delete_schedules(ref, (await self._deployments.get(ref)).tenant)
        tenant = await self._deployments.remove(ref)
        await self._store.packs.sweep()
        await self._delete_schedules(ref, tenant)

    async def _delete_schedules(self, ref: DeploymentRef, tenant: str) -> None:
        schedules = Schedules(self._store)
        cursor: str | None = None
        while True:
            page = await schedules.list(tenant=tenant, limit=_PAGE, cursor=cursor)
            for schedule in page.items:
                if schedule.plan.execution.tags.get(SCHEDULED_BY) == ref.label:
                    await schedules.delete(schedule.plan.id, tenant=tenant)
            cursor = page.next_cursor
            if cursor is None:
                return

    @override
    async def list(
        self, env: str, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> DeploymentPage:
        checks.name("env", env)
        calls.check_page(limit, tenant)
        items, more = await self._deployments.page(env, tenant, limit, cursor)
        return DeploymentPage(items=await self._counted(items), next_cursor=more)

    @override
    async def events(
        self, ref: DeploymentRef, *, limit: int = 50
    ) -> builtins.list[DeploymentEvent]:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        return await self._deployments.events(ref, limit)

    @override
    async def explain(self, ref: DeploymentRef, session: str) -> RouteExplanation:
        checks.text("session", session, bounds.ID_CHARS, empty=False)
        deployment = await self._deployments.get(ref)
        wait = await self._wait(deployment, session)
        found = await self._router.explain(table_of(deployment), session, wait=wait)
        return msgspec.convert(msgspec.to_builtins(found), RouteExplanation)

    async def _wait(self, deployment: Deployment, session_id: str) -> str | None:
        """Return the revision that a session of the tenant needs; None if it needs none."""
        try:
            checks.execution_id("session", session_id)
            session = (await self._store.sessions.read(session_id)).session
        except (SessionNotFound, InvalidInput):
            return None
        is_under_way = session.state is not SessionState.IDLE
        is_own = session.key.tenant == deployment.tenant
        known = session.revision is not None and deployment.revision(session.revision)
        return session.revision if is_under_way and is_own and known else None

    @override
    async def watch(self, env: str) -> AsyncIterator[Sequence[Deployment]]:
        checks.name("env", env)
        news = asyncio.Event()
        channel = channels.deployments(self._store.global_tag)

        def on_change(_channel: str, changed: str) -> None:
            if changed == env:
                news.set()

        await self._store.subscriptions.add([channel], on_change)
        try:
            known, is_first = 0, True
            while True:
                last, changed = await self._deployments.changes(env, known, _PAGE)
                if last < known:
                    # A failover lost changes that were read before.
                    known = 0
                    continue
                if changed or is_first:
                    is_first = False
                    yield changed
                if len(changed) == _PAGE:
                    known = changed[-1].change
                else:
                    known = last
                    await news_or_poll(news, _POLL_S)
        finally:
            await self._store.subscriptions.remove([channel], on_change)

    # Revisions

    @override
    async def _stage(self, ref: DeploymentRef, new: NewRevision) -> tuple[Revision, bool]:
        digests = [*([] if new.digest is None else [new.digest]), *new.overlays]
        deployment = await self._deployments.get(ref)
        if deployment.pack is not None and new.digest is None:
            checks.refuse("digest", "is required: the deployment runs a pack", new.digest)
        if deployment.app is not None and digests:
            checks.refuse("digest", "must be absent: the deployment runs an app", new.digest)
        packed = new.packed_config()
        created = await self._deployments.stage(ref, new.id, digests, packed, packs_of=new.packs_of)
        return revision_in(await self._deployments.get(ref), new.id), created

    @override
    async def warm(self, ref: DeploymentRef, revision_id: str) -> Revision:
        return await self._deployments.move(
            ref,
            check_revision(revision_id),
            Lifecycle.WARMING,
            settled=(Lifecycle.WARMING, Lifecycle.READY),
        )

    @override
    async def judge(
        self, ref: DeploymentRef, revision_id: str, gates: Sequence[Gate], *, seen: int
    ) -> Revision:
        check_revision(revision_id)
        checks.integer("seen", seen, 1, bounds.AMOUNT)
        checks.integer("gates", len(gates), 1, bounds.GATES)
        for gate in gates:
            checks.instance("gate", gate, Gate)
        passed = all(gate.passed for gate in gates)
        if passed:
            deployment = await self._deployments.get(ref)
            revision = revision_in(deployment, revision_id)
            if revision.version == seen:
                # If it drained before, or one of its id did, partitions start nothing on it.
                await self._needs.open(deployment.tenant, revision_id, revision)
        return await self._deployments.move(
            ref,
            revision_id,
            Lifecycle.READY if passed else Lifecycle.FAILED,
            settled=(),
            seen=seen,
            fields={"gates": msgspec.json.encode(gates)},
        )

    @override
    async def drain(
        self, ref: DeploymentRef, revision_id: str, *, deadline_ms: int | None = None
    ) -> Revision:
        check_revision(revision_id)
        if deadline_ms is not None:
            checks.integer("deadline_ms", deadline_ms, 0, bounds.DURATION_MS)
        await self._deployments.move(
            ref,
            revision_id,
            Lifecycle.DRAINING,
            settled=(Lifecycle.DRAINING, Lifecycle.INACTIVE),
            fields={"drain_ms": "" if deadline_ms is None else str(deadline_ms)},
        )
        return await self.settle(ref, revision_id)

    async def settle(self, ref: DeploymentRef, revision_id: str) -> Revision:
        """End the drain of a revision if nothing needs it; otherwise nothing changes."""
        deployment = await self._deployments.get(ref)
        revision = revision_in(deployment, check_revision(revision_id))
        if revision.lifecycle is not Lifecycle.DRAINING:
            # A replay may need a revision again whose drain has ended.
            found = await self._needs.count(deployment.tenant, [revision_id])
            counted = with_needs(deployment, found)
            return revision_in(counted, revision_id)
        # Closed first, counted afterwards: what a partition has then can only become less.
        needs = await self._needs.close(deployment.tenant, revision_id, revision)
        if needs:
            counted = with_needs(deployment, {revision_id: needs})
            return revision_in(counted, revision_id)
        return await self._deployments.move(
            ref, revision_id, Lifecycle.INACTIVE, seen=revision.version
        )

    @override
    async def needs(
        self, ref: DeploymentRef, revision_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> NeedPage:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        deployment = await self._deployments.get(ref)
        revision_in(deployment, check_revision(revision_id))
        items, more = await self._needs.page(deployment.tenant, revision_id, limit, cursor)
        return NeedPage(items=tuple(items), next_cursor=more)

    @override
    async def forecast(self, ref: DeploymentRef, revision_id: str) -> Forecast:
        deployment = await self._deployments.get(ref)
        revision = revision_in(deployment, check_revision(revision_id))
        now, prospects = await self._needs.prospects(deployment.tenant, revision_id)
        return foretell(revision, prospects, now)

    @override
    async def figures(
        self, ref: DeploymentRef, revision_id: str, *, window_ms: int = WINDOW_MS
    ) -> Figures:
        checks.integer("window_ms", window_ms, 1, WINDOW_MS)
        deployment = await self._deployments.get(ref)
        revision_in(deployment, check_revision(revision_id))
        now, _ = await self._store.rollouts.page(ref, 1)
        since = now - timedelta(milliseconds=window_ms)
        (turns,) = await self._deployments.turns(deployment.tenant, [revision_id], since)
        return turns.summary(since)

    @override
    async def archive(self, ref: DeploymentRef, revision_id: str) -> Revision:
        return await self._deployments.move(ref, check_revision(revision_id), Lifecycle.ARCHIVED)

    # Splits

    @override
    async def set_split(
        self,
        ref: DeploymentRef,
        entries: Sequence[SplitEntry],
        *,
        expected_generation: int,
        idempotency_key: str | None = None,
    ) -> Split:
        checks.integer("expected_generation", expected_generation, 0, bounds.AMOUNT)
        return await self._deployments.set_split(
            ref,
            check_entries(entries),
            expected=expected_generation,
            key=_key(idempotency_key),
        )

    @override
    async def rollback(
        self,
        ref: DeploymentRef,
        *,
        to_generation: int | None = None,
        idempotency_key: str | None = None,
    ) -> Split:
        if to_generation is not None:
            checks.integer("to_generation", to_generation, 1, bounds.AMOUNT)
        return await self._deployments.rollback(ref, to_generation, _key(idempotency_key))


def table_of(deployment: Deployment) -> RoutingTable:
    """Return what routing must know about a deployment."""
    entries = {entry.revision: entry for entry in deployment.split.entries}
    routed = [revision for revision in deployment.revisions if revision.id in entries]
    others = [revision for revision in deployment.served if revision.id not in entries]
    unrouted = SplitEntry(revision="none", weight_bps=0)
    candidates = tuple(
        Candidate(
            revision=revision.id,
            weight_bps=entries.get(revision.id, unrouted).weight_bps,
            lifecycle=revision.lifecycle.value,
            since=entries.get(revision.id, unrouted).since,
        )
        for revision in [*routed, *others][: bounds.REVISIONS]
    )
    generation = deployment.split.generation
    return RoutingTable(deployment.env, deployment.id, deployment.tenant, generation, candidates)


def _key(given: str | None) -> str:
    if given is None:
        return new_id()
    return checks.text("idempotency_key", given, bounds.KEY_CHARS, empty=False)
