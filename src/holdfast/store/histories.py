"""Short history as it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.model.history import LEVELS, History, HistoryQuery, history_of
from holdfast.store.domain import Domain


class Histories(Domain):
    """The history of lanes and queues, in the global partition."""

    async def turn(self) -> bool:
        """Whether this process is the one that takes the sample of these 5 s."""
        (may,) = await self._call.write("hf_history_turn", self._store.global_tag)
        return bool(may)

    async def add(self, samples: Mapping[str, Sequence[int]]) -> int:
        """Add a sample: the figures of each series."""
        flat = [
            part
            for series, figures in samples.items()
            for part in (series, " ".join(map(str, figures)))
        ]
        tag = self._store.global_tag
        (added,) = await self._call.write("hf_history_add", tag, str(LEVELS), *flat)
        return int(added)

    async def read(self, query: HistoryQuery) -> list[History]:
        """Return histories, by tenant and name."""
        prefix = f"{query.subject}|" + (f"{query.tenant}|" if query.tenant is not None else "")
        now, found = await self._call.read(
            "hf_history_read", self._store.global_tag, query.span, prefix
        )
        histories = [
            history_of(
                series.decode(), [row.decode() for row in rows], query.span, query.points, now
            )
            for series, rows in found
        ]
        wanted = [one for one in histories if query.name in {None, one.name}]
        return sorted(wanted, key=lambda one: (one.tenant, one.name))
