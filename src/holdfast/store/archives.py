"""Executions that wait for the archive, and the setting that makes them wait."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence

from holdfast.model import records
from holdfast.model.exports import Exported
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.store import exports
from holdfast.store.domain import Domain

_ITEMS_IN_CALL = 100
_ABANDON_IN_CALL = 500
_FORMER_KEPT = 8


class Archives(Domain):
    """The store's side of the archive."""

    async def url(self) -> str | None:
        """Return the URL of the archive, None if there is none."""
        url, _ = await self.offload()
        return url

    async def offload(self) -> tuple[str | None, int | None]:
        """Return the URL of the archive, and the size from which payloads are stored there."""
        settings = await self._settings()
        url, threshold = settings.get(b"archive"), settings.get(b"offload")
        return records.text(url), None if threshold is None else int(threshold)

    async def urls(self) -> tuple[str | None, Sequence[str]]:
        """Return the URL of the archive, and those of former ones, the last first."""
        settings = await self._settings()
        former = records.text(settings.get(b"former_archives")) or ""
        return records.text(settings.get(b"archive")), former.splitlines()

    async def erasures(self) -> tuple[str, str]:
        """Return the marks of the erasure that runs, empty if none does, and of the last one."""
        settings = await self._settings()
        return (
            records.text(settings.get(b"erasing")) or "",
            records.text(settings.get(b"erased")) or "",
        )

    @contextlib.asynccontextmanager
    async def erasing(self) -> AsyncIterator[None]:
        """Let processes that write payloads know that some are being deleted.

        If the caller dies, they believe so until the next erasure ends, which costs them time only.
        """
        mark = new_id()
        await self._configure(erasing=mark)
        try:
            yield
        finally:
            await self._configure(erasing="", erased=mark)

    async def _settings(self) -> dict[bytes, bytes]:
        (flat,) = await self._call.read("hf_admin_settings", next(iter(self._store.tags())))
        return records.pairs(flat)

    async def set_offload(self, threshold: int | None) -> None:
        """Keep payloads over this size outside the store; None keeps all in it."""
        value = "" if threshold is None else str(threshold)
        await self._configure(offload=value)

    async def set_url(self, url: str | None) -> None:
        """Set the URL of the archive; None lets retention remove the waiting executions."""
        last, former = await self.urls()
        former = [one for one in (last, *former) if one and one != url][:_FORMER_KEPT]
        # In one call, so that a payload in the archive before can always be read.
        await self._configure(archive=url or "", former_archives="\n".join(former))
        if url is None:
            await asyncio.gather(*(self._abandon(tag) for tag in self._store.tags()))

    async def forget_former(self, url: str) -> None:
        """Look for nothing in a former archive any more."""
        _, former = await self.urls()
        await self._configure(former_archives="\n".join(one for one in former if one != url))

    async def _configure(self, **settings: str) -> None:
        args = [text for setting in settings.items() for text in setting]
        await asyncio.gather(
            *(self._call.write("hf_admin_configure", tag, *args) for tag in self._store.tags())
        )

    async def _abandon(self, tag: str) -> None:
        left = 1
        while left:
            _, left = await self._call.write("hf_archive_abandon", tag, str(_ABANDON_IN_CALL))

    async def waiting(self) -> tuple[int, int | None]:
        """Return how many executions wait, and the birth stamp of the oldest."""
        replies = await asyncio.gather(
            *(self._call.read("hf_archive_status", tag) for tag in self._store.tags())
        )
        oldest = [int(born) for _, born in replies if born]
        return sum(count for count, _ in replies), min(oldest, default=None)

    async def batch(
        self, tag: str, after: int, limit: int, most_bytes: int
    ) -> tuple[list[Exported], int | None]:
        """Return waiting executions of a partition, and the stamp to continue after, if any."""
        rows, go_on = await self._call.read(
            "hf_archive_batch", tag, str(after), str(limit), str(most_bytes)
        )
        return [exports.from_reply(row) for row in rows], int(go_on) if go_on else None

    async def export(self, execution_id: str) -> Exported:
        """Return everything of an execution that has ended, in its stored form."""
        tag = self._store.tag_of(execution_id)
        row = await self._call.read("hf_archive_export", tag, execution_id)
        return exports.from_reply(row)

    async def forget(self, ended: Iterable[tuple[str, int, int]]) -> int:
        """Remove executions, given as id, birth and run, that still wait as they were read."""
        by_tag: dict[str, list[str]] = {}
        for execution_id, born, run in ended:
            tag = self._store.tag_of(execution_id)
            by_tag.setdefault(tag, []).extend((execution_id, str(born), str(run)))
        calls = [
            self._call.write("hf_archive_forget", tag, *chunk)
            for tag, args in by_tag.items()
            for chunk in _chunks(args, 3 * _ITEMS_IN_CALL)
        ]
        return sum(count for (count,) in await asyncio.gather(*calls))

    async def restore(self, exported: Exported, *, archived: bool) -> State:
        """Bring an execution back into the store, as it ended; it is in plain form."""
        (state,) = await self._call.write(
            "hf_archive_restore",
            self._store.tag_of(exported.id),
            exported.id,
            "1" if archived else "0",
            *exports.restore_args(exports.seal_export(self._sealing, exported)),
        )
        return State(state.decode())


def _chunks(args: Sequence[str], size: int) -> list[Sequence[str]]:
    return [args[start : start + size] for start in range(0, len(args), size)]
