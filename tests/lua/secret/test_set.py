"""hf_secret_set."""

from __future__ import annotations

import pytest

from holdfast.errors import TooManySecrets
from holdfast.model import bounds
from holdfast.model.secrets import SecretRef
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump

REF = SecretRef(name="api_key", tenant="acme", env="prod")


async def test_a_secret_replaces_the_one_before(store: Store, clock: Clock, dump: Dump) -> None:
    """Its key, its bytes and its time are those of the last call, which may be repeated."""
    await store.secrets.set(REF, "k1", b"one")
    await clock.advance(1_000)
    for _ in range(2):
        at = await store.secrets.set(REF, "k2", b"two\0\xff")
    assert await store.secrets.get(REF) == ("k2", b"two\0\xff")
    (secret,) = await store.secrets.list("acme", "prod")
    assert (secret.name, secret.kid, secret.updated_at) == ("api_key", "k2", at)
    assert violations(dump()) == []


async def test_tenants_and_envs_share_nothing(store: Store) -> None:
    """The same name of another tenant, or in another env, is another secret."""
    other = SecretRef(name="api_key", tenant="other", env="prod")
    local = SecretRef(name="api_key", tenant="acme", env="local")
    for number, ref in enumerate((REF, other, local)):
        await store.secrets.set(ref, "k1", b"%d" % number)
    assert [(await store.secrets.get(ref))[1] for ref in (REF, other, local)] == [b"0", b"1", b"2"]


async def test_a_tenant_has_a_bounded_number(
    store: Store, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One too many is refused and changes nothing; a known one can still be set."""
    monkeypatch.setattr(bounds, "SECRETS", 2)
    await store.secrets.set(REF, "k1", b"x")
    await store.secrets.set(SecretRef(name="b", tenant="acme", env="prod"), "k1", b"x")
    before = dump()
    with pytest.raises(TooManySecrets):
        await store.secrets.set(SecretRef(name="c", tenant="acme", env="prod"), "k1", b"x")
    assert dump() == before
    await store.secrets.set(REF, "k1", b"y")
