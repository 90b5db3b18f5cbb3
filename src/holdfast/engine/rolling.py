"""The roller: carries rollouts out, which are executions of a kind of their own.

The state of a rollout and the split change in one call of the store, so a roller that dies has done
a step or has not. Its execution is claimed by another one, which looks again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket

import msgspec

from holdfast.api.claimer import Claimer
from holdfast.engine.executions import Executions
from holdfast.engine.rollouts import Rollouts
from holdfast.errors import HoldfastError, InvalidInput, NotFound, RolloutOver
from holdfast.model import checks
from holdfast.model.claims import Claimant
from holdfast.model.deployments import DeploymentRef
from holdfast.model.executions import Claim, Failure
from holdfast.model.names import stored_id
from holdfast.model.rollouts import KIND, LANE, Errand, Rollout
from holdfast.model.states import TERMINAL
from holdfast.outages import level
from holdfast.store.actors import acting_as
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: A look takes milliseconds; another roller takes over after this time.
LEASE_MS = 5_000
_AT_ONCE = 16
#: Claims are announced; this bounds how long a lost announcement can go unnoticed.
POLL_S = 15.0


class Roller:
    """Carries rollouts out for as long as it runs."""

    name = "roller"

    def __init__(self, store: Store, executions: Executions) -> None:
        self._store = store
        self._executions = executions
        self._rollouts = Rollouts(store)

    async def run(self) -> None:
        """Carry rollouts out until cancelled."""
        worker = f"{self.name}.{socket.gethostname()}.{os.getpid()}"
        claimant = Claimant(worker=worker, lanes=(LANE,), kinds=(KIND,))
        async with self._executions.open_claimer(claimant, poll_s=POLL_S) as claimer:
            with acting_as("rollout"):
                while True:
                    await self.adopt()
                    await self.look(claimer, wait_ms=int(POLL_S * 1000))

    async def look(self, claimer: Claimer, *, wait_ms: int) -> int:
        """Claim executions of rollouts and look at each; return how many there were."""
        claims = await claimer.claim(_AT_ONCE, LEASE_MS, wait_ms)
        await asyncio.gather(*map(self._look, claims))
        return len(claims)

    async def adopt(self) -> None:
        """Give rollouts their execution if they lack one; one whose execution ended is aborted."""
        for ref, rollout_id in await self._store.rollouts.active():
            try:
                _, rollout = await self._store.rollouts.get(ref, rollout_id)
                await self._rollouts.employ(rollout)
                execution = await self._executions.describe(rollout.execution)
                if execution.state in TERMINAL:
                    reason = f"its execution is {execution.state}"
                    await self._rollouts.abort(ref, rollout_id, reason=reason)
            except (NotFound, RolloutOver) as error:
                log.debug("rollout %s is over: %s", rollout_id, error)

    async def _look(self, claim: Claim) -> None:
        try:
            try:
                ref, rollout_id = _errand(claim)
                now, rollout = await self._rollouts.look(ref, rollout_id)
            except (NotFound, InvalidInput) as error:
                failure = Failure(type=type(error).__name__, message=str(error), retryable=False)
                await self._executions.fail(claim.id, claim.lease, failure)
                return
            if rollout.is_over:
                result = msgspec.json.encode(_outcome(rollout))
                await self._executions.complete(claim.id, claim.lease, result)
            else:
                await self._executions.delay(claim.id, claim.lease, rollout.look_ms(now))
        except HoldfastError as error:
            # Its lease ends, and it is looked at again.
            log.log(level(error), "rollout %s was interrupted: %s", claim.id, error)


def _errand(claim: Claim) -> tuple[DeploymentRef, str]:
    """Return what an execution is for; every client can submit one of this kind, with any input."""
    try:
        errand = msgspec.json.decode(claim.input, type=Errand)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"input: is not that of a rollout ({error})"
        raise InvalidInput(message, field="input") from error
    if stored_id(claim.tenant, errand.rollout) != claim.id:
        checks.refuse("input", "must name the rollout of this execution", errand.rollout)
    return DeploymentRef(env=errand.env, id=errand.deployment, tenant=claim.tenant), errand.rollout


def _outcome(rollout: Rollout) -> dict[str, object]:
    return {"rollout": rollout.id, "state": rollout.state, "reason": rollout.reason}
