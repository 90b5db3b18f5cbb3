"""Every kind of object store, empty."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.fencing import FolderObjects, MemoryObjects, ObjectStore
from holdfast.fencing.in_store import StoreObjects
from holdfast.store.store import Store
from holdfast.testing.plugin import holdfast_server, holdfast_store
from tests.support.objects import s3_objects, start_s3

__all__ = ["holdfast_server", "holdfast_store"]

_prefixes = (f"p{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    with start_s3() as address:
        yield address


@pytest.fixture(params=["memory", "folder", "valkey", "s3"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """An empty object store of each kind."""
    if request.param == "memory":
        return MemoryObjects()
    if request.param == "folder":
        return FolderObjects(tmp_path)
    if request.param == "s3":
        return s3_objects(request.getfixturevalue("s3_address"), next(_prefixes))
    store: Store = request.getfixturevalue("single_store")
    return StoreObjects(store)
