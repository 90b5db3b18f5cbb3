"""What needs revisions, in the partitions of executions; each call asks one partition."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import reduce
from operator import add
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.model.deployments import Deployment
from holdfast.model.forecasts import Prospects
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.revisions import Need, Needs, Revision
from holdfast.model.session_keys import session_of
from holdfast.model.states import State
from holdfast.store.domain import Domain

#: Revisions that one call counts, so that none holds the store for long.
_MOST_COUNTED = 200


class RevisionNeeds(Domain):
    """Executions that need revisions of a tenant's deployments."""

    async def close(self, tenant: str, revision_id: str, seen: Revision | None = None) -> Needs:
        """Let a revision start nothing more anywhere; returns what still needs it.

        Where it was opened since it was `seen`, it stays open.
        """
        stamp = _stamp(seen)
        rows = await asyncio.gather(
            *(
                self._call.write("hf_revision_close", tag, tenant, revision_id, *stamp)
                for tag in self._store.tags()
            )
        )
        return reduce(add, map(_needs, rows), Needs())

    async def open(self, tenant: str, revision_id: str, seen: Revision | None = None) -> None:
        """Let a revision start executions again, everywhere but where it was closed since."""
        stamp = _stamp(seen)
        tags = list(self._store.tags())
        await asyncio.gather(
            *(
                self._call.write("hf_revision_open", tag, tenant, revision_id, *stamp)
                for tag in tags
            )
        )

    async def count(self, tenant: str, revision_ids: Sequence[str]) -> dict[str, Needs]:
        """Return how many executions need each of these revisions."""
        found: dict[str, Needs] = {}
        for start in range(0, len(revision_ids), _MOST_COUNTED):
            asked = revision_ids[start : start + _MOST_COUNTED]
            answers = await asyncio.gather(
                *(
                    self._call.read("hf_revision_needs", tag, tenant, *asked)
                    for tag in self._store.tags()
                )
            )
            for index, revision_id in enumerate(asked):
                found[revision_id] = reduce(add, (_needs(rows[index]) for rows in answers), Needs())
        return found

    async def prospects(self, tenant: str, revision_id: str) -> tuple[datetime, Prospects]:
        """Return the time, and what foretells when nothing needs a revision any more."""
        rows = await asyncio.gather(
            *(
                self._call.read("hf_revision_prospects", tag, tenant, revision_id)
                for tag in self._store.tags()
            )
        )
        now = max(int(row[0]) for row in rows)
        return from_ms(now), reduce(add, map(_prospects, rows), Prospects())

    async def page(
        self, tenant: str, revision_id: str, limit: int, cursor: str | None = None
    ) -> tuple[list[Need], str | None]:
        """Return executions that need a revision, partition by partition, and the next cursor."""
        tags = list(self._store.tags())
        partition, start = _place(cursor, len(tags))
        found: list[Need] = []
        while partition < len(tags):
            wanted = limit - len(found)
            if wanted == 0:
                return found, f"{partition}.{start}"
            rows = await self._call.read(
                "hf_revision_list", tags[partition], tenant, revision_id, str(start), str(wanted)
            )
            found += map(_need, rows)
            start += len(rows)
            if len(rows) < wanted:
                partition, start = partition + 1, 0
        return found, None

    async def in_partition(
        self, tag: str, tenant: str, revision_id: str, *, after: int, limit: int
    ) -> list[Need]:
        """Return what needs a revision in one partition, after some that are left out."""
        rows = await self._call.read(
            "hf_revision_list", tag, tenant, revision_id, str(after), str(limit)
        )
        return [_need(row) for row in rows]

    async def release(
        self, tenant: str, revision_id: str, execution_id: str, *, how: str, text: str
    ) -> str:
        """Release a revision from one execution: `asked`, `ended` or `left`."""
        (word,) = await self._call.write(
            "hf_revision_release",
            self._store.tag_of(execution_id),
            tenant,
            revision_id,
            execution_id,
            how,
            text,
        )
        return str(word.decode())


def with_needs(deployment: Deployment, needs: Mapping[str, Needs]) -> Deployment:
    """Return a deployment whose revisions have their counts."""
    none = Needs()
    counted = []
    for revision in deployment.revisions:
        need = needs.get(revision.id, none)
        counted.append(
            replace(
                revision,
                running=need.running,
                waiting=need.waiting,
                oldest_wait=need.oldest_wait,
            )
        )
    return replace(deployment, revisions=tuple(counted))


def _stamp(seen: Revision | None) -> tuple[str, ...]:
    """Return what tells an earlier version of a revision from a later one."""
    return () if seen is None else (f"{to_ms(seen.staged_at)} {seen.version}",)


def _place(cursor: str | None, partitions: int) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    partition, _, start = cursor.partition(".")
    if not (partition.isdecimal() and start.isdecimal() and int(partition) < partitions):
        raise InvalidInput("cursor: must come from an earlier page", field="cursor")
    return int(partition), int(start)


def _need(row: Sequence[Any]) -> Need:
    execution, state, hold, since, session = row
    return Need(
        execution=execution.decode(),
        session=session_of(execution.decode()) if session else None,
        state=State(state.decode()),
        hold=hold.decode(),
        since=from_ms(int(float(since))),
    )


def _prospects(row: Sequence[Any]) -> Prospects:
    _, running, waiting, timed, last, left = row
    return Prospects(
        running=int(running),
        waiting=int(waiting),
        timed=int(timed),
        last=from_ms(int(last)) if last else None,
        left={int(left[at]): int(left[at + 1]) for at in range(0, len(left), 2)},
    )


def _needs(row: Sequence[Any]) -> Needs:
    running, waiting, oldest = row
    return Needs(
        running=int(running),
        waiting=int(waiting),
        oldest_wait=from_ms(int(float(oldest))) if oldest else None,
    )
