"""Outages: one log line when the store becomes unavailable or full, and one when it recovers.

Every call reports to one of these, so no other code has to log a call that failed for this reason.
"""

from __future__ import annotations

import logging
import math
import threading
import time

from holdfast.errors import HoldfastError, OutcomeUnknown, Refused, StoreFull, StoreUnavailable

log: logging.Logger = logging.getLogger(__name__)
# A command without logging shows the problem through its error.
log.addHandler(logging.NullHandler())

#: A shorter problem is not an outage: connections break and are made again all the time.
_PATIENCE_S = 1.0


class Outage:
    """The state of one dependency that can fail, shared by all its users; it is thread-safe."""

    def __init__(self, begun: str, over: str, *, patience_s: float = _PATIENCE_S) -> None:
        #: The log messages: the first takes the reason, the second the duration in seconds.
        self._begun = begun
        self._over = over
        self._patience_s = patience_s
        #: When the problem began, by affected place.
        self._since: dict[str, float] = {}
        self._began: float | None = None
        #: When the last outage ended.
        self._ended = -math.inf
        self._lock = threading.Lock()

    @property
    def suspected(self) -> bool:
        """Whether a call to some place failed, and none to that place has succeeded since."""
        return bool(self._since)

    @property
    def is_known(self) -> bool:
        """Whether a problem has lasted so long that it is an outage."""
        return self._began is not None

    def failed(self, why: str, place: str = "", *, took_s: float = 0.0) -> None:
        """Record that a call failed after `took_s`."""
        now = time.monotonic()
        with self._lock:
            started = now - took_s
            # A call from before the end of an outage does not begin the next one.
            since = self._since.setdefault(place, now if started < self._ended else started)
            if self._began is None and now - since >= self._patience_s:
                self._began = since
                log.warning(self._begun, why)

    def worked(self, place: str = "") -> None:
        """Record that a call succeeded; this costs almost nothing while there is no outage."""
        if not self._since:
            return
        with self._lock:
            self._since.pop(place, None)
            if self._since or self._began is None:
                return
            self._ended = time.monotonic()
            took_s, self._began = self._ended - self._began, None
            log.info(self._over, took_s)


def will_pass(error: HoldfastError) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, Refused | StoreUnavailable | OutcomeUnknown)


def level(error: Exception) -> int:
    """Return the level for the log line of an error; outages already have their own lines."""
    is_outage = isinstance(error, StoreFull | StoreUnavailable | OutcomeUnknown)
    return logging.DEBUG if is_outage else logging.WARNING
