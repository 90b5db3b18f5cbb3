"""The history of a store's lanes and queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from typing_extensions import override

from holdfast import api
from holdfast.model.history import History, HistoryQuery
from holdfast.store.store import Store


@final
class Histories(api.Histories):
    """Short history for charts."""

    def __init__(self, store: Store) -> None:
        self._histories = store.histories

    @override
    async def _read(self, query: HistoryQuery) -> Sequence[History]:
        return await self._histories.read(query)
