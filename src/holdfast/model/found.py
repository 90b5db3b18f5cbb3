"""What an id names: a noun, and where the console shows it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

#: The page of the console for each noun, and the parameter that selects in it, if it is a list.
_PAGES = {
    "execution": ("runs", None),
    "graph": ("graphs", None),
    "session": ("sessions", None),
    "queue": ("queues", None),
    "message": ("queues", None),
    "waitpoint": ("inbox", "id"),
    "worker": ("workers", "id"),
    "schedule": ("schedules", "id"),
    "budget": ("limits", "id"),
    "quota": ("limits", "id"),
    "key": ("keys", "id"),
    "request": ("audit", "request"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that has an id."""

    noun: str
    id: str
    #: What to call it.
    title: str
    #: Its tenant; None if it belongs to none.
    tenant: str | None = None
    #: Of a message, the queue.
    within: str | None = None

    @property
    def page(self) -> str:
        """Where the console shows it, relative to /console/."""
        folder, parameter = _PAGES[self.noun]
        shown = quote(self.within or self.id, safe="")
        return f"{folder}/{shown}" if parameter is None else f"{folder}?{parameter}={shown}"
