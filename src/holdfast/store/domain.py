"""The parts of a store that its typed modules use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from holdfast.model.executions import NewExecution
from holdfast.model.sealing import Sealing
from holdfast.store.repeats import call_id
from holdfast.store.valkey.call import Caller


class Partitioned(Protocol):
    """The parts of a store that calls need."""

    caller: Caller
    global_tag: str
    partitions: int
    prefix: str
    sealing: Sealing

    def tag_of(self, execution_id: str) -> str:
        """Return the tag of the partition of an execution."""
        ...

    def tags(self) -> Iterator[str]:
        """Return the tags of all partitions."""
        ...

    def budget_tag(self, root: str) -> str:
        """Return the tag of the partition of the budgets under a root."""
        ...

    def quota_tag(self, name: str) -> str:
        """Return the tag of the partition of a quota."""
        ...

    def limit_tags(self) -> Iterator[str]:
        """Return the tags of all partitions of budgets and quotas."""
        ...

    async def attach(self, item: NewExecution) -> str:
        """Return the limits of a new execution in the form of the library; raises NotFound."""
        ...

    def queue_tag(self, name: str) -> str:
        """Return the tag of a message queue."""
        ...


class Domain:
    """A thin typed module over the functions of one folder of lua/."""

    def __init__(self, store: Partitioned) -> None:
        self._store = store
        self._call = store.caller
        self._sealing = store.sealing

    async def _once(self, function: str, tag: str, *args: str) -> list[Any]:
        """Call a function whose last argument is the id of the call."""
        return await self._call.write(function, tag, *args, call_id(function, tag, *args))
