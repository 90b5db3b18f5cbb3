"""hf_history_read: the series of a subject, of one tenant or of all."""

from __future__ import annotations

from holdfast.model.history import HistoryQuery, Subject
from holdfast.store.store import Store


async def _names(store: Store, subject: str, tenant: str | None = None) -> list[str]:
    query = HistoryQuery.checked(subject, "hour", tenant=tenant, name=None, points=10)
    return [f"{one.tenant}/{one.name}" for one in await store.histories.read(query)]


async def test_only_what_is_asked_for(store: Store) -> None:
    """Names of tenants that begin alike are told apart."""
    assert await _names(store, Subject.LANE) == []
    series = ("lane|acme|a", "lane|acme2|b", "queue|acme|c")
    await store.histories.add(dict.fromkeys(series, (1, 2, 3, 4, 5, 6)))
    assert await _names(store, Subject.LANE) == ["acme/a", "acme2/b"]
    assert await _names(store, Subject.LANE, "acme") == ["acme/a"]
    assert await _names(store, Subject.QUEUE) == ["acme/c"]
