"""Views: what a running execution shows of itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The view that an execution set last, with its state."""

    state: State
    #: Each change has the next number; 0 means that there is none.
    version: int
    #: JSON; None if there is no view, or none newer than the caller has.
    data: bytes | None = None
    at: datetime | None = None

    @property
    def value(self) -> Any:
        """The view, decoded."""
        return None if self.data is None else msgspec.json.decode(self.data)


def check_view(data: bytes) -> bytes:
    """Check a view: JSON of a bounded size."""
    checks.payload("view", data, bounds.VIEW_BYTES)
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (ValueError, msgspec.MsgspecError) as error:
        checks.refuse("view", f"must be JSON ({error})", data)
    return data
