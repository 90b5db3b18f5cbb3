"""hf_secret_get."""

from __future__ import annotations

import pytest

from holdfast.errors import SecretNotFound
from holdfast.model.secrets import SecretRef
from holdfast.store.store import Store

REF = SecretRef(name="api_key", tenant="acme", env="prod")


async def test_a_secret_is_found_by_its_name(store: Store) -> None:
    """A name that another name begins with is another one, and so is a field of one."""
    await store.secrets.set(REF, "k1", b"one")
    assert await store.secrets.get(REF) == ("k1", b"one")
    for name in ("api", "kid:api_key", "api_key2"):
        with pytest.raises(SecretNotFound):
            await store.secrets.get(SecretRef(name=name, tenant="acme", env="prod"))
