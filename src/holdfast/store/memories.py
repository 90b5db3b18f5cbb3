"""What agents remember: items in namespaces, each in the partition of its first two labels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from holdfast.model import bounds, checks
from holdfast.model.moments import from_ms
from holdfast.model.threads import SEPARATOR, Memory
from holdfast.store.domain import Domain

#: Labels that choose the partition, so that a search below them is one call.
_LABELS = 2
#: Items in a call of a search.
_AT_ONCE = 200


class Memories(Domain):
    """Values are opaque."""

    async def put(
        self,
        tenant: str,
        namespace: tuple[str, ...],
        key: str,
        value: bytes,
        *,
        ttl_ms: int | None = None,
    ) -> None:
        """Write an item; with a time it ends when nothing writes or refreshes it."""
        field = _field(namespace, key)
        checks.payload("value", value, bounds.THREAD_BYTES)
        if ttl_ms is not None:
            checks.integer("ttl_ms", ttl_ms, 1, bounds.DURATION_MS)
        await self._call.write(
            "hf_memory_put",
            self._tag(tenant, namespace),
            tenant,
            field,
            self._sealing.seal(value, "memory", _place(tenant, field)),
            "" if ttl_ms is None else str(ttl_ms),
        )

    async def remove(self, tenant: str, namespace: tuple[str, ...], key: str) -> bool:
        """Remove an item; returns whether there was one."""
        tag, field = self._tag(tenant, namespace), _field(namespace, key)
        (word,) = await self._once("hf_memory_remove", tag, tenant, field)
        return bool(word == b"removed")

    async def get(
        self, tenant: str, namespace: tuple[str, ...], key: str, *, refresh: bool
    ) -> Memory | None:
        """Return an item; with `refresh` its time begins again."""
        bound = f"[{_field(namespace, key)}"
        _, items = await self._read(
            self._tag(tenant, namespace), tenant, bound, bound, limit=1, refresh=refresh
        )
        return items[0] if items else None

    async def search(
        self, tenant: str, prefix: tuple[str, ...], *, refresh: bool
    ) -> AsyncIterator[Memory]:
        """Iterate over the items below a prefix, by partition, namespace and key."""
        for tag in self._tags(tenant, prefix):
            for low, high in _ranges(prefix):
                start = low
                while True:
                    last, items = await self._read(
                        tag, tenant, start, high, limit=_AT_ONCE, refresh=refresh
                    )
                    for item in items:
                        yield item
                    if not last:
                        break
                    start = f"({last}"

    async def namespaces(self, tenant: str) -> list[tuple[str, ...]]:
        """Return the namespaces that have items, in order."""
        checks.name("tenant", tenant)
        calls = (self._call.read("hf_memory_spaces", tag, tenant) for tag in self._store.tags())
        replies = await asyncio.gather(*calls)
        return sorted(tuple(space.decode().split(".")) for (spaces,) in replies for space in spaces)

    async def _read(
        self, tag: str, tenant: str, low: str, high: str, *, limit: int, refresh: bool
    ) -> tuple[str, list[Memory]]:
        last, rows = await self._call.write(
            "hf_memory_read", tag, tenant, low, high, str(limit), "1" if refresh else "0"
        )
        return last.decode(), [self._memory(tenant, *row) for row in rows]

    def _memory(self, tenant: str, name: bytes, born: int, changed: int, value: bytes) -> Memory:
        field = name.decode()
        namespace, key = field.split(SEPARATOR, 1)
        return Memory(
            namespace=tuple(namespace.split(".")),
            key=key,
            value=self._sealing.open(value, memory=_place(tenant, field)),
            created_at=from_ms(int(born)),
            changed_at=from_ms(int(changed)),
        )

    def _tag(self, tenant: str, namespace: tuple[str, ...]) -> str:
        checks.name("tenant", tenant)
        return self._store.tag_of(f"{tenant}|{'.'.join(namespace[:_LABELS])}")

    def _tags(self, tenant: str, prefix: tuple[str, ...]) -> Iterator[str]:
        """Return the tags of the partitions with namespaces below a prefix."""
        if len(prefix) >= _LABELS:
            return iter((self._tag(tenant, prefix),))
        checks.name("tenant", tenant)
        return self._store.tags()


def _field(namespace: tuple[str, ...], key: str) -> str:
    labels = ".".join(checks.text("namespace", label, bounds.THREAD_CHARS) for label in namespace)
    return f"{labels}{SEPARATOR}{checks.text('key', key, bounds.THREAD_CHARS)}"


def _place(tenant: str, field: str) -> str:
    return f"{tenant}|{field}"


def _ranges(prefix: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Return the ranges of fields below a prefix: of its own namespace, and of those in it."""
    if not prefix:
        yield "-", "+"
        return
    joined = ".".join(prefix)
    yield f"[{joined}{SEPARATOR}", f"({joined}\1"
    # The character after the dot ends the second range.
    yield f"[{joined}.", f"({joined}/"
