"""Keeps the function library loaded, and works around a store that is too full to load it.

A full server denies FUNCTION LOAD, no matter what the library does. It still runs scripts that are
flagged for this, so the functions that drain the store run as scripts until the library is loaded.
"""

from __future__ import annotations

import asyncio
import time

from holdfast.outages import Outage
from holdfast.store.valkey import boot, library
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed

#: How long to wait after a denial: the library is large, and every call would send it.
_DENIED_S = 1.0


class Loader:
    """Loads the library where it is missing or old."""

    def __init__(self, client: Client, *, fake_clock: bool) -> None:
        self._client = client
        self._fake_clock = fake_clock
        self.library: library.Library = library.load(fake_clock=fake_clock)
        self._lock = asyncio.Lock()
        self._denied_until = 0.0
        self._denied = Outage(
            "the store is too full to load the function library (%s): calls that free memory run "
            "as scripts, which are slower; raise maxmemory or shorten retention",
            "the function library is loaded, after %.1f s without it",
            patience_s=0,
        )

    async def load(self) -> bool:
        """Load the library; returns whether the store had room for it."""
        async with self._lock:
            if time.monotonic() < self._denied_until:
                return False
            try:
                await boot.load_library(self._client, self.library)
            except CallFailed as failure:
                if not failure.is_full:
                    raise
                self._denied_until = time.monotonic() + _DENIED_S
                self._denied.failed(failure.text)
                return False
            self._denied.worked()
            return True

    def script(self, function: str) -> str:
        """Return a function as a script, which does not need the library."""
        return library.script(function, fake_clock=self._fake_clock)
