"""hf_task_read."""

from __future__ import annotations

from holdfast.store.store import Store


async def test_a_tenants_own_description_wins(store: Store) -> None:
    """Each pair gets what holds for that tenant; another tenant's is not seen."""
    await store.tasks.publish({"a": {"lane": "all"}, "b": {"lane": "all"}})
    await store.tasks.publish({"a": {"lane": "ours"}, "c": {"lane": "ours"}}, "ours")
    pairs = [(tenant, kind) for tenant in ("ours", "theirs") for kind in "abcd"]
    found = await store.tasks.read(pairs)
    assert {f"{tenant} {kind}": row and row["lane"] for (tenant, kind), row in found.items()} == {
        "ours a": "ours",
        "ours b": "all",
        "ours c": "ours",
        "ours d": None,
        "theirs a": "all",
        "theirs b": "all",
        "theirs c": None,
        "theirs d": None,
    }


async def test_many_are_read_in_several_calls(store: Store) -> None:
    """No call is large."""
    await store.tasks.publish({"k7": {}, "k1999": {}})
    found = await store.tasks.read([("t", f"k{n}") for n in range(2000)])
    assert [kind for (_, kind), row in found.items() if row is not None] == ["k7", "k1999"]
