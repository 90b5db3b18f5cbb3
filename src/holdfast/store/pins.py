"""Pins of sessions to revisions, in the partition of their scope."""

from __future__ import annotations

from typing import Any

from holdfast.model.pins import Finding, Pin, PinPlace, PinRules, Roster
from holdfast.store.domain import Domain

Found = tuple[Finding, Pin | None]


class Pins(Domain):
    """Each method is one call of one function."""

    async def try_pin(
        self, place: PinPlace, revision: str, roster: Roster, rules: PinRules
    ) -> Found:
        """Pin a session, unless it has a pin that holds, which is returned."""
        reply = await self._call.write(
            "hf_pin_try",
            self._store.tag_of(place.scope),
            place.scope,
            place.session,
            revision,
            str(roster.generation),
            str(rules.ttl_ms),
            str(rules.cap),
            "1" if rules.evict else "0",
            roster.text,
        )
        return _found(reply)

    async def lookup(self, place: PinPlace, roster: Roster, *, peek: bool) -> Found:
        """Return and renew the pin of a session if it holds; with `peek` nothing changes."""
        reply = await self._call.write(
            "hf_pin_lookup",
            self._store.tag_of(place.scope),
            place.scope,
            place.session,
            str(roster.generation),
            "1" if peek else "0",
            roster.text,
        )
        return _found(reply)


def _found(reply: list[Any]) -> Found:
    word, *pin = reply
    finding = Finding(word.decode())
    return finding, Pin(pin[0].decode(), int(pin[1])) if pin else None
