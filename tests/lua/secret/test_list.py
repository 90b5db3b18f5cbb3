"""hf_secret_list."""

from __future__ import annotations

from holdfast.model.secrets import SecretRef
from holdfast.store.store import Store


async def test_secrets_are_listed_by_name(store: Store) -> None:
    """All of one tenant in one env, however they are called; none of others."""
    assert await store.secrets.list("acme", "prod") == []
    for name in ("b", "kid:b", "a", "sealed:b", "at:b"):
        await store.secrets.set(SecretRef(name=name, tenant="acme", env="prod"), "k1", b"x")
    await store.secrets.set(SecretRef(name="z", tenant="other", env="prod"), "k1", b"x")
    found = await store.secrets.list("acme", "prod")
    assert [secret.name for secret in found] == ["a", "at:b", "b", "kid:b", "sealed:b"]
    assert {(secret.tenant, secret.env, secret.kid) for secret in found} == {("acme", "prod", "k1")}
