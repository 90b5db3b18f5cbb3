"""Who holds slots of quotas: the partition of a quota and that of an execution must agree.

They are of different moments, so the order of the looks decides. An execution that stops leaves a
notice in its partition's outbox in the same moment, and the notice is removed after the quota has
it. A holder that does not run, without a notice, that is still there afterwards, is a leak.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.store.valkey.call import Caller
from holdfast.store.verify.drifts import Drift, Kind
from holdfast.store.verify.reading import Partition
from holdfast.store.verify.view import Read

#: A longer outbox is read in part; its executions are not judged.
_MOST_NOTICES = 2000


class Holders:
    """The holders of slots."""

    def __init__(self, caller: Caller, tag_of: Callable[[str], str]) -> None:
        self._caller = caller
        self._tag_of = tag_of

    async def check(
        self, quota: Partition, key: str, execution: bytes, epoch: bytes
    ) -> Drift | None:
        """Return the leak of a slot, if it is one."""
        home = Partition(self._caller, self._tag_of(execution.decode()))
        if await self._is_due(home, execution, epoch):
            return None
        holder: Read = ("m", key, execution)
        _, _, answers = await quota.read([holder])
        if answers[holder] != epoch:
            return None
        text = f"has the holder {execution.decode()}, which does not run under epoch {int(epoch)}"
        # The quota's own function repairs it, which also lets the next one in.
        repair = ("release", key, execution)
        return Drift(Kind.EXTRA, f"quota {key.partition(':')[2]}:", text, (repair,))

    async def mend(self, quota: Partition, key: str, execution: bytes, epoch: bytes) -> bool:
        """Release a slot that leaked."""
        name = key.partition(":")[2]
        await self._caller.write("hf_quota_release", quota.tag, execution, epoch, "1", name)
        return True

    async def _is_due(self, home: Partition, execution: bytes, epoch: bytes) -> bool:
        """Return whether an execution runs, is about to, or has said that it does not."""
        name = execution.decode()
        record: Read = ("v", f"x:{name}", b"")
        size: Read = ("n", "outbox", b"")
        _, _, answers = await home.read([record, size])
        if answers[size] > _MOST_NOTICES:
            return True
        outbox: Read = ("v", "outbox", b"")
        _, _, answers = await home.read([record, outbox])
        fields = answers[record] or {}
        runs = fields.get(b"state") == b"active"
        granted = fields.get(b"state") == b"waiting" and b"due" in fields
        if (runs or granted) and fields.get(b"epoch") == epoch:
            return True
        return any(_releases(entry, execution, epoch) for entry in answers[outbox] or {})


def _releases(entry: bytes, execution: bytes, epoch: bytes) -> bool:
    """Return whether an entry of an outbox says that an execution does not run."""
    word, executions, *rest = entry.split(b"\n")
    return word == b"r" and rest[0] == epoch and execution in executions.split(b" ")
