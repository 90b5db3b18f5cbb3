"""Directives: what the routing of a pack does with a message, before a flow gets it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from holdfast.model.sessions import Entry

#: The field in the `data` of a reply that says which directive wrote it.
MARK = "directive"


class Act(StrEnum):
    """What a directive does."""

    CONTINUE = "continue"
    DISPATCH = "dispatch"
    RESPOND = "respond"
    DENY = "deny"


#: What became of a message that a directive answered.
STATES = {Act.RESPOND: "responded", Act.DENY: "denied"}


def state_of(replies: Sequence[Entry]) -> str | None:
    """Return what became of a message, by its replies; None if no directive answered it."""
    if len(replies) != 1:
        return None
    data = msgspec.json.decode(replies[0].payload).get("data")
    act = data.get(MARK) if isinstance(data, dict) else None
    return next((state for one, state in STATES.items() if one == act), None)
