"""The router: takes one snapshot for each message, decides, and pins the session."""

from __future__ import annotations

import msgspec

from holdfast.model.activities import Explanation
from holdfast.model.pins import Existing, PinKey
from holdfast.routing.cookies import Cookie
from holdfast.routing.dispatcher import Decision, Snapshot, decide, explain
from holdfast.routing.pins import Pins
from holdfast.routing.table import RoutingTable


class Router:
    """Decides over messages; a decision takes at most one call of the pins."""

    def __init__(self, pins: Pins, *, seed: bytes = b"") -> None:
        self.pins = pins
        self._seed = seed

    async def route(
        self,
        table: RoutingTable,
        session: str,
        *,
        wait: str | None = None,
        cookie: Cookie | None = None,
        may_pin: bool = True,
    ) -> Decision:
        """Choose the revision of a message, and pin its session if it has no wait.

        Set `may_pin` to False for a message whose sender is not authenticated: it finds a pin, but
        a stranger must not fill the store with pins.
        """
        snapshot = Snapshot(table, session, wait=wait, cookie=cookie)
        proposal = decide(snapshot, self._seed)
        if wait is not None or proposal.revision is None:
            return proposal
        key = _key(table, session)
        if may_pin:
            outcome = await self.pins.try_pin(key, proposal.revision, table.roster)
            pin = outcome.pin if isinstance(outcome, Existing) else None
        else:
            pin = await self.pins.lookup(key, table.roster)
        if pin is None:
            return proposal
        return decide(msgspec.structs.replace(snapshot, pin=pin), self._seed)

    async def explain(
        self,
        table: RoutingTable,
        session: str,
        *,
        wait: str | None = None,
        cookie: Cookie | None = None,
    ) -> Explanation:
        """Explain where the next message of a session would go; nothing changes."""
        pin = await self.pins.lookup(_key(table, session), table.roster, peek=True)
        return explain(Snapshot(table, session, wait, pin, cookie), self._seed)


def _key(table: RoutingTable, session: str) -> PinKey:
    return PinKey(table.env, table.deployment, table.tenant, session)
