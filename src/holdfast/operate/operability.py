"""The doctor and the snapshot, where the store is."""

from __future__ import annotations

from typing_extensions import override

from holdfast import api
from holdfast.model.findings import Finding
from holdfast.model.found import Found
from holdfast.model.snapshots import Snapshot
from holdfast.operate import doctor, snapshot
from holdfast.operate.finding import Finder
from holdfast.store.engine import StoreEngine


class Operability(api.Operability):
    """What a process that has the store open finds out about it."""

    def __init__(self, engine: StoreEngine) -> None:
        self._engine = engine

    @override
    async def doctor(self) -> list[Finding]:
        return await doctor.check(self._engine)

    @override
    async def snapshot(self) -> Snapshot:
        return await snapshot.take(self._engine)

    @override
    async def find(self, text: str, *, tenant: str | None = None) -> list[Found]:
        return await Finder(self._engine, tenant, is_admin=True).find(text)
