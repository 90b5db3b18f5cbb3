"""The tasks that workers have published, for tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.store import decode
from holdfast.store.domain import Domain

#: Between the tenant and the name of a task that only one tenant has.
_OF_TENANT = "|"


class Tasks(Domain):
    """Descriptions of tasks: JSON Schema of input and result, and what the author wrote."""

    async def publish(
        self, described: Mapping[str, Mapping[str, Any]], tenant: str | None = None
    ) -> None:
        """Publish descriptions; those of the same name are replaced."""
        prefix = "" if tenant is None else f"{tenant}{_OF_TENANT}"
        if not described:
            return
        pairs = [
            part
            for name, description in described.items()
            for part in (prefix + name, msgspec.json.encode(description))
        ]
        await self._call.write("hf_task_publish", self._store.global_tag, *pairs)

    async def list(self, tenant: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the descriptions by name: those of all tenants, and this one's own."""
        (flat,) = await self._call.read("hf_task_list", self._store.global_tag)
        described = {}
        for name, text in sorted(decode.pairs(flat).items()):
            owner, own, kind = name.decode().rpartition(_OF_TENANT)
            if not own or owner == tenant:
                described[kind] = msgspec.json.decode(text)
        return described
