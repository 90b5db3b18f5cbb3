"""Requests of a backup to its object storage: their time, and those that fail."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.backup import parts, restore, take
from holdfast.cli.backup import objects_at
from holdfast.fencing import cloud
from holdfast.store.store import Store
from tests.support.lifecycle import create_one
from tests.support.objects import Fault, FaultyObjects


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_request_that_fails_once_fails_no_backup(
    single_store: Store, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A part is written again, also if it was written and the answer lost; and read again."""
    monkeypatch.setattr(parts, "_PAUSES_S", (0.0, 0.0))
    made = await create_one(single_store)
    objects = FaultyObjects(faults=[Fault("put", when)])
    await take(single_store, objects, name="a")
    # The first read is that of the manifest.
    objects.faults.append(Fault("get", "before", after=1))
    await restore(single_store.client, single_store.url, objects, "a", force=True)
    assert objects.faults == []
    assert await single_store.queries.owner(made) == "default"


def test_requests_of_a_backup_have_time_for_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 MiB take longer over a slow line than a lease waits; a server that is away is noticed."""
    made: list[dict[str, timedelta]] = []

    def from_url(_url: str, *, client_options: dict[str, timedelta], **_options: object) -> None:
        made.append(client_options)

    monkeypatch.setattr(cloud, "from_url", from_url)
    objects = objects_at("s3://bucket/backups?endpoint=http://127.0.0.1:1")
    assert isinstance(objects, cloud.RemoteObjects)
    assert objects._store is None
    assert made[0]["timeout"] == timedelta(seconds=60)
    assert made[0]["connect_timeout"] == timedelta(seconds=5)
