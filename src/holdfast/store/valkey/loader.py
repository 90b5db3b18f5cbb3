"""Keeps the function library loaded, and works around a store that is too full to load it.

A full server denies FUNCTION LOAD, no matter what the library does. It still runs scripts that are
flagged for this, so the functions that drain the store run as scripts until the library is loaded.

After FUNCTION FLUSH, a process of the version before may be the first that loads its library again.
That one cannot read every record that this one writes, and breaks off in the middle of a call. So
this one takes its place as soon as a process of this version notices.
"""

from __future__ import annotations

import asyncio
import logging
import time

from holdfast.errors import StoreIncompatible
from holdfast.outages import Outage
from holdfast.store.valkey import boot, library
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed

log: logging.Logger = logging.getLogger(__name__)

#: How long to wait after a denial: the library is large, and every call would send it.
_DENIED_S = 1.0
#: How long a newer library is not looked for again.
_YIELDS_S = 60.0


class Loader:
    """Loads the library where it is missing or old."""

    def __init__(self, client: Client, *, fake_clock: bool) -> None:
        self._client = client
        self._fake_clock = fake_clock
        self.library: library.Library = library.load(fake_clock=fake_clock)
        self._lock = asyncio.Lock()
        self._denied_until = 0.0
        self._yields_until = 0.0
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

    async def renew(self) -> bool:
        """Load the library if an older one has taken its place; returns whether it did."""
        return await boot.has_older_library(self._client, self.library) and await self.load()

    async def keep(self) -> None:
        """Look for the library, and load it if an older one has taken its place.

        It is one small call as long as the library is there. A newer one is left alone.
        """
        if time.monotonic() < self._yields_until:
            return
        try:
            await self._client.on_primaries(["FCALL_RO", self.library.marker, "0"])
        except CallFailed as failure:
            if "Function not found" in failure.text and not await self._is_renewed():
                self._yields_until = time.monotonic() + _YIELDS_S

    async def _is_renewed(self) -> bool:
        try:
            return await self.renew()
        except (CallFailed, StoreIncompatible) as error:
            log.warning("the function library is not loaded: %s", error)
            return False

    def script(self, function: str) -> str:
        """Return a function as a script, which does not need the library."""
        return library.script(function, fake_clock=self._fake_clock)
