"""The state that packs keep for tenants, in the partition of its scope."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.ids import new_id
from holdfast.model.pack_states import Entry, StateScope
from holdfast.store.domain import Domain


class States(Domain):
    """Values with versions; what they hold is never looked at."""

    async def get(self, scope: StateScope, names: Sequence[str]) -> list[Entry | None]:
        """Return the entries of names, None where there is none."""
        tag = self._store.tag_of(scope.stored)
        (rows,) = await self._call.read("hf_state_get", tag, scope.stored, *names)
        return [
            Entry(int(row[0]), self._sealing.open(row[1], kept=_place(scope, name)))
            if row
            else None
            for name, row in zip(names, rows, strict=True)
        ]

    async def put(
        self,
        scope: StateScope,
        name: str,
        value: bytes,
        *,
        expected: int | None,
        ttl_ms: int | None,
    ) -> int:
        """Write a value, and return its version; raises VersionConflict, StateFull."""
        (version,) = await self._call.write(
            "hf_state_put",
            self._store.tag_of(scope.stored),
            scope.stored,
            name,
            self._sealing.seal(value, "kept", _place(scope, name)),
            "" if expected is None else str(expected),
            new_id(),
            "" if ttl_ms is None else str(ttl_ms),
        )
        return int(version)

    async def remove(self, scope: StateScope, name: str, *, expected: int | None) -> bool:
        """Remove a value, and return whether there was one; raises VersionConflict."""
        (word,) = await self._once(
            "hf_state_remove",
            self._store.tag_of(scope.stored),
            scope.stored,
            name,
            "" if expected is None else str(expected),
        )
        return bool(word == b"removed")


def _place(scope: StateScope, name: str) -> str:
    return f"{scope.stored}\0{name}"
