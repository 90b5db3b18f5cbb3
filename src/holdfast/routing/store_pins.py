"""Pins that all processes of a store share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import final

from typing_extensions import override

from holdfast.model.pins import Finding, Pin, PinPlace, PinRules, Roster
from holdfast.outages import Outage
from holdfast.routing.pins import Pins
from holdfast.store.store import Store

#: A message does not wait longer than this for a pin.
DEADLINE_S = 0.05


@final
class StorePins(Pins):
    """Pins in a store: one call of one function each, with a deadline."""

    def __init__(
        self, store: Store, rules: PinRules | None = None, *, deadline_s: float = DEADLINE_S
    ) -> None:
        super().__init__(rules)
        self._pins = store.pins
        self._deadline_s = deadline_s
        self._outage = Outage(
            "pins cannot be read or written (%s); messages are routed without them",
            "pins are read and written again, after %.1f s",
        )

    @override
    async def _try_pin(
        self, place: PinPlace, own: Pin, roster: Roster
    ) -> tuple[Finding, Pin | None]:
        return await self._within(self._pins.try_pin(place, own.revision, roster, self.rules))

    @override
    async def _lookup(
        self, place: PinPlace, roster: Roster, *, peek: bool
    ) -> tuple[Finding, Pin | None]:
        return await self._within(self._pins.lookup(place, roster, peek=peek))

    async def _within(
        self, call: Awaitable[tuple[Finding, Pin | None]]
    ) -> tuple[Finding, Pin | None]:
        try:
            async with asyncio.timeout(self._deadline_s):
                found = await call
        except Exception as error:  # noqa: BLE001 - no failure of a pin may stop a message
            self._outage.failed(str(error) or "no answer in time")
            return Finding.SKIPPED, None
        self._outage.worked()
        return found
