"""The probe: does this object store keep the promises that fencing needs?

Some services, gateways and file systems accept a condition and ignore it. The probe violates each
condition on purpose with a scratch object, and refuses a store that lets the request pass.
"""

from __future__ import annotations

import weakref
from collections.abc import Awaitable

from holdfast.errors import BackendUnfit, VersionConflict
from holdfast.fencing.objects import DeletesByVersion, ObjectStore
from holdfast.model.ids import new_id
from holdfast.model.writer_leases import Version

_fit: weakref.WeakSet[ObjectStore] = weakref.WeakSet()


async def require_fit(store: ObjectStore) -> None:
    """Probe a store once per process; raises BackendUnfit."""
    if store in _fit:
        return
    await probe(store)
    _fit.add(store)


async def probe(store: ObjectStore) -> None:
    """Probe a store; raises BackendUnfit that names the promise it breaks."""
    key = f"probe/{new_id()}"
    try:
        await _probe_puts(store, key)
        if isinstance(store, DeletesByVersion):
            await _probe_deletes(store, key)
    finally:
        await store.delete(key)
    if await store.get(key) is not None:
        raise _unfit(store, "delete", "an object still exists after it was deleted")


async def _probe_puts(store: ObjectStore, key: str) -> None:
    if await store.get(key) is not None:
        raise _unfit(store, "get", "a name that was never used has an object")
    first = await store.put_if_absent(key, b"1")
    await _must_refuse(store, "create_twice", store.put_if_absent(key, b"2"))
    await _must_show(store, key, b"1", first)
    second = await store.put_if_version(key, b"2", first)
    if second == first:
        raise _unfit(store, "versions", "different bytes have the same version")
    await _must_refuse(store, "replace_wrong_version", store.put_if_version(key, b"3", first))
    await _must_show(store, key, b"2", second)
    absent = store.put_if_version(f"{key}-absent", b"3", second)
    await _must_refuse(store, "replace_absent", absent)
    if [entry.key async for entry in store.list(key)] != [key]:
        raise _unfit(store, "list", "a listing does not show the object that was just written")


async def _probe_deletes(store: ObjectStore, key: str) -> None:
    deleter = store
    assert isinstance(deleter, DeletesByVersion)  # noqa: S101 - for the type checker
    found = await store.get(key)
    if found is None:
        raise _unfit(store, "get", "an object disappeared")
    newer = await store.put_if_version(key, b"4", found.version)
    refused = deleter.delete_if_version(key, found.version)
    await _must_refuse(store, "delete_wrong_version", refused)
    await _must_show(store, key, b"4", newer)
    await deleter.delete_if_version(key, newer)
    await _must_refuse(store, "delete_absent", deleter.delete_if_version(key, newer))


async def _must_refuse(store: ObjectStore, check: str, call: Awaitable[object]) -> None:
    try:
        await call
    except VersionConflict:
        return
    raise _unfit(store, check, "a condition that does not hold was ignored")


async def _must_show(store: ObjectStore, key: str, body: bytes, version: Version) -> None:
    found = await store.get(key)
    if found is None or found.body != body:
        raise _unfit(store, "read_after_write", "a read does not show the last write")
    if found.version != version:
        raise _unfit(store, "versions", "a read returns a different version than the write did")


def _unfit(store: ObjectStore, check: str, problem: str) -> BackendUnfit:
    message = f"{store.name} cannot fence writers: {problem} ({check})"
    return BackendUnfit(message, check=check, store=store.name)
