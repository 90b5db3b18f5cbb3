"""Secrets of tenants, sealed before they reach the store.

Keys come from the environment, or else from a ring in the store. Only keys of the environment
protect against a reader of the whole store.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from typing import final

from typing_extensions import override

from holdfast.api import secrets as contract
from holdfast.errors import HoldfastError, InvalidInput, SecretNotFound
from holdfast.model import checks
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.secrets import SealingKey, SealingKeys, Secret, SecretRef, check_value
from holdfast.model.session_keys import DEFAULT_ENV
from holdfast.model.tokens import check_kid, check_secret
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: Keys that seal secrets: KID:SECRET_IN_HEX, several separated by commas. The first one seals.
SEALING_KEYS_VARIABLE = "HOLDFAST_SECRET_KEYS"
#: How long a process may use keys that it has read; later it learns of a rotation.
_KNOWN_S = 30.0


@final
class Secrets(contract.Secrets):
    """Operations on secrets."""

    def __init__(self, store: Store) -> None:
        self._secrets = store.secrets
        self._known: SealingKeys | None = None
        self._known_until = 0.0

    @override
    async def set(
        self, name: str, value: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> Secret:
        return await self.keep(SecretRef(name=name, tenant=tenant, env=env), value)

    async def keep(self, ref: SecretRef, value: str) -> Secret:
        """Seal and store a secret of a tenant or of an endpoint."""
        check_value(value)
        keys = await self._keys()
        sealed = keys.keys[keys.current].seal(ref, value)
        at = await self._secrets.set(ref, keys.current, sealed)
        kid = keys.current
        return Secret(name=ref.name, tenant=ref.tenant, env=ref.env, kid=kid, updated_at=at)

    @override
    async def list(self, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV) -> list[Secret]:
        checks.name("tenant", tenant)
        checks.name("env", env)
        return await self._secrets.list(tenant, env)

    @override
    async def delete(
        self, name: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> None:
        if not await self._secrets.remove(SecretRef(name=name, tenant=tenant, env=env)):
            raise SecretNotFound(f"no secret is called {name}", name=name)

    @override
    async def reveal(
        self, name: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> str:
        return await self.open(SecretRef(name=name, tenant=tenant, env=env))

    async def open(self, ref: SecretRef) -> str:
        """Return the value of a secret of a tenant or of an endpoint, as `reveal` does."""
        kid, sealed = await self._secrets.get(ref)
        keys = await self._keys()
        if kid not in keys.keys:
            keys = await self._keys(again=True)
        value = keys.key(ref, kid).open(ref, sealed)
        if kid != keys.current:
            await self._reseal(ref, sealed, keys.keys[keys.current], value)
        return value

    async def _reseal(self, ref: SecretRef, before: bytes, key: SealingKey, value: str) -> None:
        try:
            await self._secrets.reseal(ref, before, key.kid, key.seal(ref, value))
        except HoldfastError as error:
            # The value is known; the next reader tries again.
            log.warning("the secret %s stays sealed with an old key: %s", ref.name, error.code)

    @override
    async def rotate(self) -> str:
        if _configured():
            message = f"{SEALING_KEYS_VARIABLE} names the keys: put a new one first"
            raise InvalidInput(message, field=SEALING_KEYS_VARIABLE)
        ring = await self._secrets.ring()
        current = await self._secrets.rotate(_new_key(), ring.current)
        await self._keys(again=True)
        return current

    async def _keys(self, *, again: bool = False) -> SealingKeys:
        """Return the keys: those of the environment first, then those of the store."""
        if self._known is None or again or time.monotonic() > self._known_until:
            self._known = await self._read_keys()
            self._known_until = time.monotonic() + _KNOWN_S
        return self._known

    async def _read_keys(self) -> SealingKeys:
        own = _configured()
        ring = await self._secrets.ring()
        if own:
            return SealingKeys(next(iter(own)), {**ring.keys, **own})
        if not ring.current:
            await self._secrets.rotate(_new_key(), "")
            ring = await self._secrets.ring()
        return ring


def _new_key() -> SealingKey:
    return SealingKey(f"s{secrets.token_hex(4)}", secrets.token_bytes(32))


def _configured() -> dict[str, SealingKey]:
    """Return the keys that the environment names; a mistake in them is never shown."""
    text = os.environ.get(SEALING_KEYS_VARIABLE, "")
    keys: dict[str, SealingKey] = {}
    for part in text.split(",") if text else ():
        kid, separator, secret_hex = part.strip().partition(":")
        if not separator or kid in keys:
            message = f"{SEALING_KEYS_VARIABLE}: must be KID:SECRET_IN_HEX, separated by commas"
            raise InvalidInput(message, field=SEALING_KEYS_VARIABLE)
        keys[kid] = SealingKey(check_kid(kid), check_secret(secret_hex))
    return keys
