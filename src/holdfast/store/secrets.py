"""Sealed secrets, in the partition of their env and tenant; and the keys that seal them."""

from __future__ import annotations

from datetime import datetime

from holdfast.model import bounds
from holdfast.model.moments import from_ms
from holdfast.model.secrets import SealingKey, SealingKeys, Secret, SecretRef, scope_of
from holdfast.store.domain import Domain


class Secrets(Domain):
    """Reads and changes of sealed secrets; nothing here knows a value."""

    async def set(self, ref: SecretRef, kid: str, sealed: bytes) -> datetime:
        """Keep a sealed secret; returns the time."""
        tag, most = self._store.tag_of(ref.scope), str(bounds.SECRETS)
        (at,) = await self._call.write("hf_secret_set", tag, ref.scope, ref.name, kid, sealed, most)
        return from_ms(int(at))

    async def get(self, ref: SecretRef) -> tuple[str, bytes]:
        """Return the key of a secret and what it sealed; raises SecretNotFound."""
        tag = self._store.tag_of(ref.scope)
        kid, sealed = await self._call.read("hf_secret_get", tag, ref.scope, ref.name)
        return kid.decode(), sealed

    async def reseal(self, ref: SecretRef, before: bytes, kid: str, sealed: bytes) -> None:
        """Replace what was read, unless it has changed since."""
        tag = self._store.tag_of(ref.scope)
        await self._call.write("hf_secret_reseal", tag, ref.scope, ref.name, before, kid, sealed)

    async def list(self, tenant: str, env: str, endpoint: str | None = None) -> list[Secret]:
        """Return the secrets of a tenant in an env, or of an endpoint, by name."""
        scope = scope_of(env, tenant, endpoint)
        (rows,) = await self._call.read("hf_secret_list", self._store.tag_of(scope), scope)
        return [
            Secret(
                name=name.decode(),
                tenant=tenant,
                env=env,
                kid=kid.decode(),
                updated_at=from_ms(int(at)),
            )
            for name, kid, at in rows
        ]

    async def remove(self, ref: SecretRef) -> bool:
        """Remove a secret; returns whether it existed."""
        tag = self._store.tag_of(ref.scope)
        (word,) = await self._once("hf_secret_remove", tag, ref.scope, ref.name)
        return bool(word == b"removed")

    async def rotate(self, key: SealingKey, expected: str) -> str:
        """Make a key the current one if the current one is as expected; returns the current."""
        (current,) = await self._call.write(
            "hf_secret_rotate", self._store.global_tag, key.kid, key.secret.hex(), expected
        )
        found: str = current.decode()
        return found

    async def ring(self) -> SealingKeys:
        """Return the keys that the store keeps."""
        current, rows = await self._call.read("hf_secret_ring", self._store.global_tag)
        keys = [SealingKey(kid.decode(), bytes.fromhex(secret.decode())) for kid, secret in rows]
        return SealingKeys(current.decode(), {key.kid: key for key in keys})
