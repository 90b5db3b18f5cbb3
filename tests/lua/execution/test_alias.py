"""hf_execution_alias."""

from __future__ import annotations

from typing import Any

from holdfast.errors import IdempotencyConflict
from holdfast.model.executions import NewExecution
from holdfast.model.ids import id_of_key
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, create_one, refused

TTL_MS = 86_400_000


async def bind(
    store: Store, execution_id: str, *, key: str = "k", digest: str = "d1", tenant: str = "acme"
) -> list[Any]:
    derived = id_of_key(tenant, key)
    args = (tenant, key, derived, execution_id, digest, str(TTL_MS))
    return await store.caller.write("hf_execution_alias", store.tag_of(derived), *args)


async def test_a_free_key_is_bound_to_the_named_id(store: Store) -> None:
    """The caller learns that it may create its id."""
    assert await bind(store, "a") == [b"bound", b"a"]


async def test_a_repeated_binding_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """After a lost reply the caller is still the one that may create its id."""
    await bind(store, "a")
    before = dump()
    assert await bind(store, "a") == [b"bound", b"a"]
    assert dump() == before


async def test_a_bound_key_is_taken_for_another_id(store: Store, dump: Dump) -> None:
    """The second id with the same key and content is told the first."""
    await bind(store, "a")
    before = dump()
    assert await bind(store, "b") == [b"taken", b"a"]
    assert dump() == before


async def test_a_bound_key_with_other_content_is_a_conflict(store: Store, dump: Dump) -> None:
    """The refusal names the execution that has the key."""
    await bind(store, "a")
    for other in ("a", "b"):
        await refused(
            bind(store, other, digest="d2"), IdempotencyConflict, dump, id="a", digest="d1"
        )


async def test_a_key_that_made_an_execution_by_itself_is_taken(store: Store, dump: Dump) -> None:
    """An execution created by key alone is found before any binding."""
    item = NewExecution(kind="work", tenant="acme", idempotency_key="k")
    first = await create_one(store, tenant="acme", idempotency_key="k")
    before = dump()
    assert await bind(store, "b", digest=item.digest()) == [b"taken", first.encode()]
    assert dump() == before
    conflict = {"id": first, "digest": item.digest()}
    await refused(bind(store, "b", digest="d2"), IdempotencyConflict, dump, **conflict)


async def test_keys_of_tenants_are_apart(store: Store) -> None:
    """Two tenants may use the same key."""
    await bind(store, "a")
    assert await bind(store, "b", tenant="other") == [b"bound", b"b"]


async def test_a_binding_lives_as_long_as_asked(store: Store) -> None:
    """A binding that no execution follows goes away by itself."""
    await bind(store, "a")
    tag = store.tag_of(id_of_key("acme", "k"))
    left_ms = await store.client.call(["PTTL", f"{tag}:alias:acme|k"])
    assert TTL_MS - 60_000 < left_ms <= TTL_MS
