"""The state of packs as JSON: what components ask for, and what `state.tenant` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.pack_states import StateScope
from holdfast.store.store import Store


@dataclass(frozen=True, slots=True)
class StateValue:
    """A value, and its version, which never repeats."""

    value: Any
    version: int


class PackStates:
    """The state of all packs and tenants of a store."""

    def __init__(self, store: Store) -> None:
        self._states = store.states

    async def get(self, scope: StateScope, names: Sequence[str]) -> dict[str, StateValue | None]:
        """Return the values of names, None where there is none; raises InvalidInput."""
        for name in names:
            _check_name(name)
        entries = await self._states.get(scope, names) if names else []
        return {
            name: entry and StateValue(msgspec.json.decode(entry.value), entry.version)
            for name, entry in zip(names, entries, strict=True)
        }

    async def set(
        self,
        scope: StateScope,
        name: str,
        value: Any,
        *,
        version: int | None = None,
        ttl_ms: int | None = None,
    ) -> int:
        """Write a value and return its version.

        With a version, the value must still have it; 0 means that there is none. Raises
        InvalidInput, TooLarge, VersionConflict, StateFull.
        """
        encoded = msgspec.json.encode(value)
        checks.payload("value", encoded, bounds.STATE_BYTES)
        if ttl_ms is not None:
            checks.integer("ttl_ms", ttl_ms, 1, bounds.DURATION_MS)
        return await self._states.put(
            scope, _check_name(name), encoded, expected=version, ttl_ms=ttl_ms
        )

    async def remove(self, scope: StateScope, name: str, *, version: int | None = None) -> bool:
        """Remove a value, and return whether there was one; raises VersionConflict."""
        return await self._states.remove(scope, _check_name(name), expected=version)


def _check_name(name: str) -> str:
    return checks.text("key", name, bounds.STATE_NAME_CHARS, empty=False)
