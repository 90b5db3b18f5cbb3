"""Writer leases: tokens rise, and a writer whose lease another has got commits nothing more."""

from __future__ import annotations

from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from holdfast.fencing import FencedManifest
from holdfast.fencing.in_store import StoreObjects
from holdfast.model.ids import new_id
from holdfast.model.writer_leases import Ask, Grant, Token
from tests.chaos.seeded.workload.workload import Dump, Workload

_KEY = "chaos/main"
_TTL_MS, _MARGIN_MS = 300, 50


class _Authority:
    """A grant as the right to write. It never says that its time is over: the store must."""

    def __init__(self, grant: Grant) -> None:
        self.token: Token = grant.token
        self.holder: str = grant.record.holder_id
        self.incarnation: str = grant.record.incarnation

    def check(self) -> None:
        """Allow everything, like a process that was paused right after its own check."""


class Leases(Workload):
    """Clients that contend for a lease and commit to a manifest under it."""

    @override
    async def act(self, engine: Engine, client: str) -> None:
        ask = Ask(holder=client, incarnation=new_id(), ttl_ms=_TTL_MS, margin_ms=_MARGIN_MS)
        leases = engine.writer_leases
        grant = await self.history.call(client, "acquire", _KEY, leases.acquire(_KEY, ask))
        if grant is None:
            return
        if isinstance(engine, NearEngine):
            await self._commit(engine, client, grant)
        token = grant.token
        chance = self.random.random()
        if chance < 0.4:
            refresh = leases.refresh(grant)
            await self.history.call(client, "refresh", _KEY, refresh, token=token)
        elif chance < 0.8:
            await self.history.call(client, "release", _KEY, leases.release(grant), token=token)

    async def _commit(self, engine: NearEngine, client: str, grant: Grant) -> None:
        manifest = FencedManifest(StoreObjects(engine.store), _KEY)
        token = grant.token
        opening = manifest.open(_Authority(grant))
        writer = await self.history.call(client, "open", _KEY, opening, token=token)
        for _ in range(self.random.randint(0, 3)):
            if writer is None:
                break
            item = new_id()
            work = writer.commit(add={f"objects/{item}": {}})
            await self.history.call(client, "commit", item, work, token=token)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        grants = sorted((c for c in self.history.of("acquire") if c.is_ok), key=lambda c: c.ended)
        for one in grants:
            for two in grants:
                if one.ended < two.began and one.answer.token >= two.answer.token:
                    yield f"token {two.answer.token} was granted after {one.answer.token}"
        tokens = [call.answer.token for call in grants]
        if len(set(tokens)) < len(tokens):
            yield f"a token was granted twice: {tokens}"
        openings = [call for call in self.history.of("open") if call.is_ok]
        commits = [call for call in self.history.of("commit") if call.is_ok]
        for commit in commits:
            for opening in openings:
                if opening.ended < commit.began and opening.facts["token"] > commit.facts["token"]:
                    yield (
                        f"{commit.facts['token']} committed after {opening.facts['token']} had "
                        "opened the manifest"
                    )
        snapshot = await FencedManifest(StoreObjects(engine.store), _KEY).read()
        objects = set() if snapshot is None else set(snapshot.objects)
        for commit in commits:
            if f"objects/{commit.key}" not in objects:
                yield f"the commit {commit.key} was acknowledged and is lost"
