"""Writes a manifest: the holder of a lease puts data objects and commits them.

There is one writer at a time, so a conflict is never a reason to merge: it is the writer's own
earlier write, whose answer was lost, or the end of its authority.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from holdfast.errors import (
    BackendFailed,
    Fenced,
    HoldfastError,
    InvalidRecord,
    LeaseLost,
    LostRace,
    OutcomeUnknown,
    VersionConflict,
)
from holdfast.fencing import paths
from holdfast.fencing.manifest import Authority, FencedManifest, Snapshot
from holdfast.model import checks
from holdfast.model.ids import new_id
from holdfast.model.writer_leases import Version

#: How often opening starts again because an earlier writer committed in the meantime.
_ROUNDS = 8
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 50.0, 2_000.0


async def open_writer(manifest: FencedManifest, authority: Authority) -> ManifestWriter:
    """Stamp the manifest with the token of the authority and return its writer."""
    for _ in range(_ROUNDS):
        published = await manifest.read()
        if published is not None:
            _check_token(manifest.key, authority, published)
        base = published or Snapshot(
            token=authority.token,
            holder=authority.holder,
            incarnation=authority.incarnation,
            sequence=-1,
            nonce="",
            committed_at_ms=0,
        )
        writer = ManifestWriter(manifest, authority, base, published.version if published else None)
        try:
            await writer.commit()
        except LostRace:
            continue
        return writer
    message = f"the manifest of {manifest.key} keeps changing under {authority.holder}"
    raise LostRace(message, key=manifest.key, holder=authority.holder)


def _check_token(key: str, authority: Authority, published: Snapshot) -> None:
    """Refuse a writer whose token is older than the manifest's, or is another writer's."""
    mine, theirs = (
        (authority.token, authority.incarnation),
        (published.token, published.incarnation),
    )
    if published.token > authority.token or (theirs[0] == mine[0] and theirs[1] != mine[1]):
        message = (
            f"{authority.holder} (token {authority.token}) is fenced: the manifest of {key} "
            f"was written by {published.holder} (token {published.token})"
        )
        raise Fenced(
            message,
            key=key,
            holder=authority.holder,
            token=str(authority.token),
            current_term=published.token.term,
            current_token=str(published.token),
        )


class ManifestWriter:
    """The writer of a manifest. Make it with `FencedManifest.open`."""

    def __init__(
        self,
        manifest: FencedManifest,
        authority: Authority,
        base: Snapshot,
        version: Version | None,
    ) -> None:
        self._manifest = manifest
        self._authority = authority
        self._version = version
        self._gone: set[str] = set()
        self._broken: HoldfastError | None = None
        #: The last committed manifest.
        self.snapshot: Snapshot = base

    async def put(self, body: bytes, suffix: str = "") -> str:
        """Write a data object and return its name. It means nothing until it is committed."""
        checks.instance("body", body, bytes)
        self._check()
        name = paths.data(self._manifest.key, self._authority.token, new_id(), suffix)
        try:
            await self._manifest.store.put_if_absent(name, body)
        except (BackendFailed, VersionConflict) as failure:
            # No other writer makes this name: if the object exists, this call wrote it.
            if isinstance(failure, BackendFailed) and not failure.maybe_done:
                raise
            stored = await self._manifest.store.get(name)
            if stored is None or stored.body != body:
                raise
        return name

    async def commit(
        self,
        *,
        add: Mapping[str, Any] | None = None,
        drop: Collection[str] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> Snapshot:
        """Add objects, drop others, and set facts (None removes one), atomically.

        Raises StaleLease or Fenced if the authority ended and nothing was changed, OutcomeUnknown
        if it ended while the answer was unclear. After any error open the manifest again.
        """
        self._check()
        now = self.snapshot
        _check_changes(now, add or {}, drop)
        kept = {name: value for name, value in now.objects.items() if name not in drop}
        merged = {**now.facts, **(facts or {})}
        wanted = replace(
            now,
            token=self._authority.token,
            holder=self._authority.holder,
            incarnation=self._authority.incarnation,
            sequence=now.sequence + 1,
            nonce=new_id(),
            committed_at_ms=self._manifest.times.wall_ms(),
            objects={**kept, **(add or {})},
            facts={name: value for name, value in merged.items() if value is not None},
            dropped=tuple(name for name in (*now.dropped, *drop) if name not in self._gone),
        )
        try:
            self._version = await self._swap(wanted)
        except HoldfastError as error:
            self._broken = error
            raise
        self._gone.clear()
        self.snapshot = replace(wanted, version=self._version)
        return self.snapshot

    async def collect(self) -> list[str]:
        """Delete objects that are no longer real; returns the names.

        These are objects that commits dropped or earlier writers left uncommitted: the manifest
        carries this writer's token, so no writer with a lower one can commit any more. An
        object that a stalled writer creates later is found by a later collection.
        """
        self._check()
        doomed = set(self.snapshot.dropped) - self._gone
        async for entry in self._manifest.store.list(paths.data_prefix(self._manifest.key)):
            token = paths.token_of(self._manifest.key, entry.key)
            left_behind = token is not None and token < self._authority.token
            if left_behind and entry.key not in self.snapshot.objects:
                doomed.add(entry.key)
        for name in sorted(doomed):
            self._check()
            await self._manifest.store.delete(name)
        self._gone |= doomed
        return sorted(doomed)

    def _check(self) -> None:
        if self._broken is not None:
            message = f"an earlier commit failed ({self._broken}): open the manifest again"
            raise LostRace(message, key=self._manifest.key)
        self._authority.check()

    async def _swap(self, manifest: Snapshot) -> Version:
        """Write the manifest; the nonce resolves unclear answers."""
        body = manifest.to_json()
        pause_ms = _FIRST_PAUSE_MS
        maybe_done = False
        while True:
            try:
                self._authority.check()
            except LeaseLost as lost:
                if not maybe_done:
                    raise
                message = f"the commit to {self._manifest.key} may have happened ({lost})"
                raise OutcomeUnknown(message, key=self._manifest.key) from lost
            try:
                return await self._try_swap(manifest, body)
            except BackendFailed as failure:
                maybe_done = maybe_done or failure.maybe_done
            await self._manifest.times.sleep(pause_ms)
            pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)

    async def _try_swap(self, wanted: Snapshot, body: bytes) -> Version:
        store, where = self._manifest.store, self._manifest.where
        failure: HoldfastError
        try:
            if self._version is None:
                return await store.put_if_absent(where, body)
            return await store.put_if_version(where, body, self._version)
        except VersionConflict as conflict:
            failure = conflict
        except BackendFailed as trouble:
            failure = trouble
        found = await self._manifest.read()
        if found is not None and found.nonce == wanted.nonce and found.version is not None:
            return found.version
        if (found.version if found else None) == self._version:
            raise failure if isinstance(failure, BackendFailed) else _flaky(where, failure)
        if found is None:
            raise InvalidRecord(f"{where} no longer exists", object=where)
        _check_token(self._manifest.key, self._authority, found)
        message = f"{found.holder} committed to {self._manifest.key} first"
        raise LostRace(message, key=self._manifest.key, observed=str(found.token))


def _flaky(where: str, conflict: VersionConflict) -> BackendFailed:
    """Return the error for a store that refused a version and then returned the same one."""
    message = f"{where}: the store contradicts itself ({conflict})"
    return BackendFailed(message, object=where, maybe_done=True)


def _check_changes(now: Snapshot, add: Mapping[str, Any], drop: Collection[str]) -> None:
    for name in add:
        if name in now.objects or name in now.dropped:
            checks.refuse("add", "names an object that was committed before", name)
    for name in drop:
        if name not in now.objects:
            checks.refuse("drop", "names an object that is not committed", name)
