"""The tasks that workers have published, for tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.store import decode
from holdfast.store.domain import Domain


class Tasks(Domain):
    """Descriptions of tasks: JSON Schema of input and result, and what the author wrote."""

    async def publish(self, described: Mapping[str, Mapping[str, Any]]) -> None:
        """Publish descriptions; those of the same name are replaced."""
        if not described:
            return
        pairs = [
            part
            for name, description in described.items()
            for part in (name, msgspec.json.encode(description))
        ]
        await self._call.write("hf_task_publish", self._store.global_tag, *pairs)

    async def list(self) -> dict[str, dict[str, Any]]:
        """Return the descriptions by name."""
        (flat,) = await self._call.read("hf_task_list", self._store.global_tag)
        found = sorted(decode.pairs(flat).items())
        return {name.decode(): msgspec.json.decode(text) for name, text in found}
