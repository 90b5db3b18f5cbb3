"""Deployments, their revisions and their splits; each method is one call of one function."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import add
from typing import Any

import msgspec

from holdfast.errors import RevisionNotFound
from holdfast.model import bounds, checks, records
from holdfast.model.deployments import (
    RESTART_TEXT,
    Deployment,
    DeploymentEvent,
    DeploymentRef,
    Drain,
    NewDeployment,
    Split,
    SplitEntry,
)
from holdfast.model.figures import Histogram
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.packs import PackEntries
from holdfast.model.revisions import Gate, Lifecycle, Revision, deadline, sources
from holdfast.store import actors
from holdfast.store.domain import Domain

_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.decode
_pack_gates = msgspec.json.encode


class Deployments(Domain):
    """Deployments, in the global partition, and what needs their revisions, in all others."""

    async def create(self, new: NewDeployment) -> bool:
        """Create a deployment; returns whether it is new."""
        fields: list[str | bytes] = []
        for name, value in (("pack", new.pack), ("app", new.app)):
            fields += [] if value is None else [name, value]
        fields += ["hosts", _pack(new.hosts), "prefixes", _pack(new.path_prefixes)]
        (word,) = await self._call.write(
            "hf_deployment_create",
            self._store.global_tag,
            new.env,
            new.tenant,
            new.id,
            actors.current(),
            new.digest(),
            *fields,
        )
        return bool(word == b"created")

    async def get(self, ref: DeploymentRef) -> Deployment:
        """Return a deployment, without what needs its revisions."""
        row = await self._call.read("hf_deployment_describe", self._store.global_tag, *_named(ref))
        return _deployment(row)

    async def page(
        self, env: str, tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[Deployment], str | None]:
        """Return a page in the order of tenant and id, and the next cursor."""
        if cursor is not None:
            checks.text("cursor", cursor, 2 * bounds.ID_CHARS)
        place = (env, tenant or "", cursor or "", str(limit + 1))
        rows = await self._call.read("hf_deployment_list", self._store.global_tag, *place)
        found = [_deployment(row) for row in rows[:limit]]
        more = f"{found[-1].tenant}|{found[-1].id}" if len(rows) > limit else None
        return found, more

    async def changes(self, env: str, after: int, limit: int) -> tuple[int, list[Deployment]]:
        """Return the number of the last change of an env, and what changed after another."""
        place = (env, str(after), str(limit))
        last, *rows = await self._call.read("hf_deployment_changes", self._store.global_tag, *place)
        return int(last), [_deployment(row) for row in rows]

    async def events(self, ref: DeploymentRef, limit: int) -> list[DeploymentEvent]:
        """Return what happened to a deployment, the newest first."""
        rows = await self._call.read(
            "hf_deployment_events", self._store.global_tag, *_named(ref), str(limit)
        )
        return [_event(at.decode(), _unpack(packed)) for at, packed in rows]

    async def stage(
        self,
        ref: DeploymentRef,
        revision_id: str,
        digests: Sequence[str],
        config: bytes,
        *,
        packs_of: str | None,
    ) -> bool:
        """Stage a revision; returns whether it is new."""
        content = hashlib.sha256(_pack((digests, config))).hexdigest()[:32]
        (word,) = await self._call.write(
            "hf_revision_stage",
            self._store.global_tag,
            *_named(ref),
            actors.current(),
            revision_id,
            content,
            packs_of or "",
            config,
            *digests,
        )
        return bool(word == b"created")

    async def move(
        self,
        ref: DeploymentRef,
        revision_id: str,
        to: Lifecycle,
        *,
        settled: Iterable[Lifecycle] | None = None,
        seen: int | None = None,
        fields: Mapping[str, str | bytes] | None = None,
    ) -> Revision:
        """Move a revision along a legal edge, unless it is in a state that settles the call.

        With `seen`, only while its lifecycle has this version.
        """
        pairs = [part for pair in (fields or {}).items() for part in pair]
        _, found = await self._call.write(
            "hf_revision_move",
            self._store.global_tag,
            *_named(ref),
            actors.current(),
            revision_id,
            to,
            " ".join(sources(to)),
            " ".join((to,) if settled is None else settled),
            "" if seen is None else str(seen),
            *pairs,
        )
        return _revision(found)

    async def revision(self, tenant: str, revision_id: str) -> Revision:
        """Return a revision of some deployment of a tenant. Raises RevisionNotFound."""
        tag = self._store.global_tag
        (fields,) = await self._call.read("hf_revision_describe", tag, tenant, revision_id)
        return _revision(fields)

    async def drains(self) -> list[Drain]:
        """Return the revisions that drain, with their deployments and how long each may take."""
        rows = await self._call.read("hf_revision_drains", self._store.global_tag)
        return [_drain(name.decode().split("|"), left) for name, left in rows]

    async def set_split(
        self, ref: DeploymentRef, entries: Sequence[SplitEntry], *, expected: int, key: str
    ) -> Split:
        """Route by these entries, which are sorted, from now on."""
        packed = _pack([(entry.revision, entry.weight_bps) for entry in entries])
        answer = await self._call.write(
            "hf_split_set",
            self._store.global_tag,
            *_named(ref),
            actors.current(),
            packed,
            str(expected),
            key,
        )
        return _answered(answer)

    async def rollback(self, ref: DeploymentRef, to: int | None, key: str) -> Split:
        """Route as an earlier generation did."""
        answer = await self._call.write(
            "hf_split_rollback",
            self._store.global_tag,
            *_named(ref),
            actors.current(),
            "" if to is None else str(to),
            key,
        )
        return _answered(answer)

    async def remove(self, ref: DeploymentRef) -> str:
        """Remove a deployment; returns its tenant."""
        (tenant,) = await self._once(
            "hf_deployment_remove",
            self._store.global_tag,
            *_named(ref),
            str(bounds.PIN_TTL_MS),
        )
        return str(tenant.decode())

    async def set_restart(self, ref: DeploymentRef, text: str) -> None:
        """Set what users read when their conversation is ended by a drain."""
        await self._call.write(
            "hf_deployment_set", self._store.global_tag, *_named(ref), actors.current(), text
        )

    async def turns(
        self, tenant: str, revision_ids: Sequence[str], since: datetime
    ) -> list[Histogram]:
        """Return the turns that ended on each of these revisions since a time."""
        if not revision_ids:
            return []
        answers = await asyncio.gather(
            *(
                self._call.read(
                    "hf_revision_figures", tag, tenant, str(to_ms(since)), *revision_ids
                )
                for tag in self._store.tags()
            )
        )
        return [
            reduce(add, (_histogram(rows[index]) for rows in answers), Histogram())
            for index in range(len(revision_ids))
        ]


def revision_in(deployment: Deployment, revision_id: str) -> Revision:
    """Return a revision of a deployment; raise RevisionNotFound."""
    found = deployment.revision(revision_id)
    if found is None:
        message = f"the deployment has no revision {revision_id}"
        raise RevisionNotFound(message, id=revision_id)
    return found


def _named(ref: DeploymentRef) -> tuple[str, str, str]:
    return ref.env, ref.tenant or "", ref.id


def _drain(names: Sequence[str], left: bytes) -> Drain:
    env, tenant, deployment, revision = names
    return Drain(
        deployment=DeploymentRef(env=env, tenant=tenant, id=deployment),
        revision=revision,
        left_ms=int(left) if left else None,
    )


def _histogram(row: Sequence[Any]) -> Histogram:
    return Histogram({name.decode(): int(row[2 * i + 1]) for i, name in enumerate(row[::2])})


def _deployment(row: Sequence[Any]) -> Deployment:
    fields, packed, revisions = row
    record = records.pairs(fields)
    split = _unpack(packed) if packed else {}

    def optional(name: bytes) -> str | None:
        value = record.get(name)
        return None if value is None else value.decode()

    return Deployment(
        id=record[b"id"].decode(),
        env=record[b"env"].decode(),
        tenant=record[b"tenant"].decode(),
        pack=optional(b"pack"),
        app=optional(b"app"),
        hosts=tuple(_unpack(record[b"hosts"])),
        path_prefixes=tuple(_unpack(record[b"prefixes"])),
        created_at=from_ms(int(record[b"born"])),
        change=int(record[b"change"]),
        restart_text=optional(b"restart") or RESTART_TEXT,
        split=_split(split) if split else Split(),
        past=tuple(_split(one) for one in split.get("past") or ()),
        revisions=tuple(map(_revision, revisions)),
    )


def _split(split: Mapping[str, Any]) -> Split:
    return Split(
        generation=int(split["generation"]),
        entries=_entries(split["entries"]),
        # Of a deployment that was removed, the generation alone is remembered.
        at=from_ms(int(split["at"])) if "at" in split else None,
        by=split.get("by", ""),
    )


def _entries(entries: Iterable[Sequence[Any]]) -> tuple[SplitEntry, ...]:
    return tuple(
        SplitEntry(revision=revision, weight_bps=int(weight), since=int(since))
        for revision, weight, since in entries
    )


def _answered(answer: Sequence[Any]) -> Split:
    generation, entries = answer
    return Split(generation=int(generation), entries=_entries(_unpack(entries)))


def _revision(fields: Sequence[Any]) -> Revision:
    record = records.pairs(fields)
    digests = _unpack(record[b"digests"])
    drained_at = from_ms(int(record[b"drained_at"])) if b"drained_at" in record else None
    drain_ms = record.get(b"drain_ms")
    signers = _unpack(record[b"signers"]) or [()]
    return Revision(
        id=record[b"id"].decode(),
        number=int(record[b"number"]),
        digest=digests[0] if digests else None,
        overlays=tuple(digests[1:]),
        archives=tuple(_unpack(record[b"archives"])),
        signers=tuple(signers[0] or ()),
        entries=tuple(map(_pack_entries, _unpack(record[b"flows"]))),
        config=msgspec.json.decode(record[b"config"]),
        lifecycle=Lifecycle(record[b"lifecycle"].decode()),
        version=int(record[b"version"]),
        staged_at=from_ms(int(record[b"staged_at"])),
        changed_at=from_ms(int(record[b"changed_at"])),
        gates=msgspec.json.decode(record.get(b"gates", b"[]"), type=tuple[Gate, ...]),
        drained_at=drained_at,
        deadline_at=deadline(drained_at, int(drain_ms)) if drained_at and drain_ms else None,
    )


def _pack_entries(row: Sequence[Any]) -> PackEntries:
    pack, entry, flows = row
    return PackEntries(pack=pack, entry=entry or None, flows=dict(flows))


def _event(at: str, event: dict[str, Any]) -> DeploymentEvent:
    return DeploymentEvent(at=from_ms(int(at.partition("-")[0])), **event)
