"""Objects with versions in the store itself, for writer leases without object storage.

They are as durable as the store: a failover that loses writes may lose a lease, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from holdfast.errors import OutcomeUnknown, StoreUnavailable
from holdfast.model import bounds, checks
from holdfast.model.ids import new_id
from holdfast.store.domain import Domain

_PAGE = 500


class Objects(Domain):
    """Objects in the global partition. Versions are minted here, so that a call can be repeated."""

    async def get(self, name: str) -> tuple[str, bytes] | None:
        """Return version and body, None if there is none; raises StoreUnavailable.

        Who finds their own version takes their write for done, so this read waits like a write
        for what the store URL says (`ack`): a successor of the server must have it, too.
        """
        try:
            reply = await self._call.write("hf_object_get", self._store.global_tag, name)
        except OutcomeUnknown as error:
            message = f"the object {name} cannot be read: {error}"
            raise StoreUnavailable(message) from error
        return (reply[0].decode(), bytes(reply[1])) if reply else None

    async def put(self, name: str, body: bytes, expected: str) -> str:
        """Replace the expected version, empty for a new object; returns the new version."""
        checks.payload("object", body, bounds.OBJECT_BYTES)
        version = new_id()
        tag = self._store.global_tag
        await self._call.write("hf_object_put", tag, name, expected, version, body)
        return version

    async def delete(self, name: str, expected: str = "") -> None:
        """Remove an object, or only this version of it."""
        tag = self._store.global_tag
        await self._once("hf_object_delete", tag, name, expected)

    async def list(self, prefix: str) -> AsyncIterator[tuple[str, int]]:
        """Iterate over names and sizes in order."""
        after = ""
        while True:
            flat = await self._call.read(
                "hf_object_list", self._store.global_tag, prefix, after, str(_PAGE)
            )
            for name, size in zip(flat[::2], flat[1::2], strict=True):
                after = name.decode()
                yield after, size
            if len(flat) < 2 * _PAGE:
                return
