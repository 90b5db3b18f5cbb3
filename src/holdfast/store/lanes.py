"""Lanes and operators' settings: every partition has a copy, so they are written to each of them.

Each write is idempotent. If one fails midway it raises; repeating it sets the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal

from holdfast.model import records
from holdfast.store.domain import Domain

LaneState = Literal["open", "paused", "draining"]


class Lanes(Domain):
    """Lanes, tenants' weights, retention."""

    async def set_state(self, lane: str, state: LaneState) -> None:
        """Open, pause or drain a lane."""
        await self._everywhere("hf_lane_set", lane, state)

    async def set_weights(self, lane: str, weights: Mapping[str, float | None]) -> None:
        """Set tenants' shares of a lane's claims; None means the default, 1."""
        await self._configure({f"weight|{lane}|{t}": w for t, w in weights.items()})

    async def set_retention(self, tenant: str, keep: Mapping[str, int | None]) -> None:
        """Set how long ended executions are kept, by state; tenant `*` means all."""
        await self._configure({f"keep|{tenant}|{s}": ms for s, ms in keep.items()})

    async def set_priority_ms(self, worth: int | None) -> None:
        """Set how many ms of waiting a point of priority is worth."""
        await self._configure({"priority_ms": worth})

    async def settings(self) -> dict[str, str]:
        """Return the settings that all partitions have."""
        replies = await asyncio.gather(
            *(self._call.read("hf_admin_settings", tag) for tag in self._store.tags())
        )
        partitions = [
            {k.decode(): v.decode() for k, v in records.pairs(flat).items()} for (flat,) in replies
        ]
        return {k: v for k, v in partitions[0].items() if all(k in other for other in partitions)}

    async def by_tenant(self, word: str) -> dict[str | None, dict[str, int]]:
        """Return the settings WORD|TENANT|NAME by tenant, None for all, and by name."""
        settings: dict[str | None, dict[str, int]] = {}
        for setting, value in sorted((await self.settings()).items()):
            kind, _, rest = setting.partition("|")
            if kind == word:
                tenant, _, name = rest.partition("|")
                settings.setdefault(None if tenant == "*" else tenant, {})[name] = int(value)
        return settings

    async def _configure(self, values: Mapping[str, float | None]) -> None:
        pairs = [
            part
            for name, value in values.items()
            for part in (name, "" if value is None else str(value))
        ]
        await self._everywhere("hf_admin_configure", *pairs)

    async def _everywhere(self, function: str, *args: str) -> None:
        await asyncio.gather(
            *(self._call.write(function, tag, *args) for tag in self._store.tags())
        )
