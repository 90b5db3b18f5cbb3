"""Outages: what is away or full is logged once when that begins, and once when it is over.

Every call passes one of these, so nothing else has to log that a call failed for this reason.
"""

from __future__ import annotations

import logging
import threading
import time

from holdfast.errors import HoldfastError, OutcomeUnknown, Refused, StoreFull, StoreUnavailable

log: logging.Logger = logging.getLogger(__name__)
# A command that logs nothing else says by its error what is wrong.
log.addHandler(logging.NullHandler())

#: What is over sooner is no outage: connections are lost and made again all the time.
_PATIENCE_S = 1.0


class Outage:
    """One thing that can be out of order, for all who use it; threads may share it."""

    def __init__(self, begun: str, over: str, *, patience_s: float = _PATIENCE_S) -> None:
        #: What is logged, with the reason, and at the end with the seconds that it took.
        self._begun = begun
        self._over = over
        self._patience_s = patience_s
        #: Since when, for each place that is concerned.
        self._since: dict[str, float] = {}
        self._began: float | None = None
        self._lock = threading.Lock()

    @property
    def suspected(self) -> bool:
        """Whether a call failed, and none got through to the same place since."""
        return bool(self._since)

    def failed(self, why: str, place: str = "", *, took_s: float = 0.0) -> None:
        """Note that a call failed, after `took_s`."""
        now = time.monotonic()
        with self._lock:
            since = self._since.setdefault(place, now - took_s)
            if self._began is None and now - since >= self._patience_s:
                self._began = since
                log.warning(self._begun, why)

    def worked(self, place: str = "") -> None:
        """Note that a call got through; costs next to nothing while all is well."""
        if not self._since:
            return
        with self._lock:
            self._since.pop(place, None)
            if self._since or self._began is None:
                return
            took_s, self._began = time.monotonic() - self._began, None
            log.info(self._over, took_s)


def will_pass(error: HoldfastError) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, Refused | StoreUnavailable | OutcomeUnknown)


def level(error: Exception) -> int:
    """Return the level at which to log what an error put off; outages have their own lines."""
    is_outage = isinstance(error, StoreFull | StoreUnavailable | OutcomeUnknown)
    return logging.DEBUG if is_outage else logging.WARNING
