"""Envs; each method is one call of one function."""

from __future__ import annotations

import msgspec

from holdfast.model import records
from holdfast.model.envs import LOCAL, Env
from holdfast.model.moments import from_ms
from holdfast.store.domain import Domain

_pack, _unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class Envs(Domain):
    """Envs, in the global partition."""

    async def put(self, env: Env) -> bool:
        """Create an env or replace what it trusts; returns whether it is new."""
        (word,) = await self._call.write(
            "hf_env_put",
            self._store.global_tag,
            env.name,
            "1" if env.unsigned_packs else "0",
            _pack(env.trust),
        )
        return bool(word == b"created") and env.name != LOCAL.name

    async def remove(self, name: str) -> bool:
        """Remove an env without deployments; returns whether it was there."""
        (word,) = await self._once("hf_env_remove", self._store.global_tag, name)
        return bool(word == b"removed")

    async def list(self) -> list[Env]:
        """Return all envs by name; `local` is always among them."""
        rows = await self._call.read("hf_env_list", self._store.global_tag)
        envs = {LOCAL.name: LOCAL}
        for name, fields in rows:
            record = records.pairs(fields)
            envs[name.decode()] = Env(
                name=name.decode(),
                unsigned_packs=record[b"unsigned"] == b"1",
                trust=tuple(_unpack(record[b"trust"])),
                created_at=from_ms(int(record[b"born"])),
            )
        return sorted(envs.values(), key=lambda env: env.name)
