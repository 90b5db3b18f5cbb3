"""An engine that has its store at hand, as parts below the engine know it."""

from __future__ import annotations

from holdfast import api
from holdfast.store.store import Store


class StoreEngine(api.Engine):
    """The contract and the store behind it. `holdfast.engine.Engine` is one."""

    store: Store
