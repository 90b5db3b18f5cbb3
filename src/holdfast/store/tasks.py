"""The tasks that workers have published, for tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holdfast.model import records
from holdfast.store.domain import Domain

#: Separates the tenant from the name of a task that only this tenant has.
_OF_TENANT = "|"
_NAMES_IN_CALL = 1_000


class Tasks(Domain):
    """Descriptions of tasks: JSON Schema of input and result, options, documentation."""

    async def publish(
        self, described: Mapping[str, Mapping[str, Any]], tenant: str | None = None
    ) -> None:
        """Publish descriptions; they replace those with the same names."""
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
        """Return the descriptions by name; this tenant's own replace those for all tenants."""
        published = await self.everything()
        common = {kind: about for (owner, kind), about in published.items() if owner is None}
        own = {kind: about for (owner, kind), about in published.items() if owner == tenant}
        return dict(sorted({**common, **own}.items()))

    async def everything(self) -> dict[tuple[str | None, str], dict[str, Any]]:
        """Return all descriptions by tenant and name; None stands for all tenants."""
        (flat,) = await self._call.read("hf_task_list", self._store.global_tag)
        published = {}
        for name, text in records.pairs(flat).items():
            owner, _, kind = name.decode().rpartition(_OF_TENANT)
            published[owner or None, kind] = msgspec.json.decode(text)
        return published

    async def read(
        self, pairs: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], dict[str, Any] | None]:
        """Return the descriptions that apply to tenants and kinds, None where there is none."""
        names = [name for tenant, kind in pairs for name in (f"{tenant}{_OF_TENANT}{kind}", kind)]
        texts: list[bytes | None] = []
        for start in range(0, len(names), _NAMES_IN_CALL):
            chunk = names[start : start + _NAMES_IN_CALL]
            (part,) = await self._call.read("hf_task_read", self._store.global_tag, *chunk)
            texts += part
        return {
            pair: None if (text := own or common) is None else msgspec.json.decode(text)
            for pair, own, common in zip(pairs, texts[::2], texts[1::2], strict=True)
        }
