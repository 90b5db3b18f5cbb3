"""Rollouts; each method is one call of one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from holdfast.model.deployments import DeploymentRef, SplitEntry
from holdfast.model.moments import from_ms
from holdfast.model.rollouts import Change, Rollout
from holdfast.store import actors
from holdfast.store.domain import Domain


class Rollouts(Domain):
    """Rollouts, in the global partition beside the splits that they set."""

    async def start(
        self, rollout: Rollout, entries: Sequence[SplitEntry], *, expected: int
    ) -> Rollout:
        """Start a rollout with the split of its first step."""
        row = await self._call.write(
            "hf_rollout_start",
            self._store.global_tag,
            *_named(rollout.ref),
            actors.current(),
            rollout.id,
            rollout.revision,
            msgspec.json.encode(rollout),
            _packed(entries),
            str(expected),
        )
        return _rollout(row)

    async def move(self, seen: Rollout, change: Change, call: str) -> Rollout:
        """Change a rollout that is still as it was seen; `call` names this change."""
        changed = replace(change.rollout, version=seen.version + 1)
        row = await self._call.write(
            "hf_rollout_move",
            self._store.global_tag,
            *_named(seen.ref),
            actors.current(),
            seen.id,
            str(seen.version),
            call,
            changed.state,
            change.event,
            msgspec.json.encode(changed),
            b"" if change.entries is None else _packed(change.entries),
            str(seen.generation),
            f"{seen.id}/{changed.step}/{change.event}",
        )
        return _rollout(row)

    async def get(self, ref: DeploymentRef, rollout_id: str) -> tuple[datetime, Rollout]:
        """Return the time of the store, and a rollout."""
        now, (found,) = await self._list(ref, 1, rollout_id)
        return now, found

    async def page(self, ref: DeploymentRef, limit: int) -> tuple[datetime, list[Rollout]]:
        """Return the time of the store, and the last rollouts of a deployment, newest first."""
        return await self._list(ref, limit, "")

    async def _list(
        self, ref: DeploymentRef, limit: int, rollout_id: str
    ) -> tuple[datetime, list[Rollout]]:
        now, *rows = await self._call.read(
            "hf_rollout_list", self._store.global_tag, *_named(ref), str(limit), rollout_id
        )
        return from_ms(int(now)), [_rollout(row) for row in rows]

    async def active(self) -> list[tuple[DeploymentRef, str]]:
        """Return the rollouts that are not over, with their deployments."""
        (names,) = await self._call.read("hf_rollout_active", self._store.global_tag)
        parts = (name.decode().split("|") for name in names)
        return [
            (DeploymentRef(env=env, tenant=tenant, id=deployment), rollout)
            for env, tenant, deployment, rollout in parts
        ]


def _named(ref: DeploymentRef) -> tuple[str, str, str]:
    return ref.env, ref.tenant or "", ref.id


def _packed(entries: Sequence[SplitEntry]) -> bytes:
    return msgspec.msgpack.encode([(entry.revision, entry.weight_bps) for entry in entries])


def _rollout(row: Sequence[Any]) -> Rollout:
    _id, _state, _version, data = row
    return msgspec.json.decode(data, type=Rollout)
