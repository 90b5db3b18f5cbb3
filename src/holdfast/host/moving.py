"""Conversations that leave a revision whose drain is overdue.

The store asks a conversation to move by a message of its own (lua/lib/session/restarts.lua). The
old revision answers, because it knows the state. So a conversation moves in an ordinary turn, under
a lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from holdfast.engine import Engine
from holdfast.errors import RevisionDraining
from holdfast.host.flows.progress import Frame
from holdfast.host.flows.remainders import Remainder
from holdfast.host.loading import LoadedPack
from holdfast.model.deployments import Deployment, DeploymentRef
from holdfast.model.revisions import capability, revision_of
from holdfast.worker.chat import Chat, state_input

log: logging.Logger = logging.getLogger(__name__)

#: Returns a revision that this host serves, when it is loaded; None: it is not, and will not be.
Loaded = Callable[[str], Awaitable[LoadedPack | None]]


class Moving:
    """Moves the conversations of a deployment to a revision where what is left of them is the same.

    Those that fit nowhere end with a message to their user.
    """

    def __init__(self, engine: Engine, ref: DeploymentRef, loaded: Loaded) -> None:
        self._store = engine.store
        self._ref = ref
        self._loaded = loaded

    async def __call__(self, chat: Chat, frames: Sequence[Frame], state: Mapping[str, Any]) -> None:
        """Move a conversation that waits at `frames` and continues with `state`, or end it."""
        deployment = await self._store.deployments.get(self._ref)
        own = revision_of(chat.claim.requires) or ""
        target = await self._target(deployment, own, frames)
        while target is not None:
            try:
                await self._move(chat, own, target, state)
            except RevisionDraining:
                # It began to drain after it was chosen. The store has what is true now.
                deployment = await self._store.deployments.get(self._ref)
                target = await self._target(deployment, own, frames)
            else:
                log.info("session %s moves from revision %s to %s", chat.session.id, own, target)
                return
        log.info("session %s leaves revision %s and starts again", chat.session.id, own)
        await self._store.needs.release(
            deployment.tenant, own, chat.id, how="force", text=deployment.restart_text
        )

    async def _target(
        self, deployment: Deployment, own: str, frames: Sequence[Frame]
    ) -> str | None:
        """Return a revision that takes new sessions and continues as the own one would."""
        mine = await self._digest(own, frames)
        for revision in _routable(deployment):
            if mine is not None and await self._digest(revision, frames) == mine:
                return revision
        return None

    async def _digest(self, revision: str, frames: Sequence[Frame]) -> str | None:
        pack = await self._loaded(revision)
        if pack is None:
            return None
        return await asyncio.to_thread(Remainder(pack.flows.flows, pack.bundle).digest, frames)

    async def _move(self, chat: Chat, own: str, target: str, state: Mapping[str, Any]) -> None:
        claim = chat.claim
        requires = [name for name in claim.requires if name != capability(own)]
        await chat.flush()
        with chat.holding():
            await self._store.sessions.move(
                claim.id,
                claim.lease,
                target,
                (*requires, capability(target)),
                state_input(msgspec.json.encode(state)),
            )


def _routable(deployment: Deployment) -> Iterator[str]:
    """Yield the revisions that take new sessions, that with the largest weight first."""
    for entry in sorted(deployment.split.entries, key=lambda one: -one.weight_bps):
        if entry.weight_bps:
            yield entry.revision
