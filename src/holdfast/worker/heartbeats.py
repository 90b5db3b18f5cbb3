"""Heartbeats: a thread renews leases, so that a blocked event loop does not lose them.

The thread has its own blocking connection.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from holdfast.api import Beats
from holdfast.errors import ExecutionNotFound, HoldfastError, LeaseLost
from holdfast.model.executions import Claim
from holdfast.model.workers import Beat
from holdfast.outages import level, will_pass

log: logging.Logger = logging.getLogger(__name__)

#: A loop that does not answer for this long causes a warning.
BLOCKED_S = 1.0
#: The pause between two tries to register.
_PAUSE_S = 1.0


class Heartbeats:
    """Renews the leases of a worker and keeps it registered."""

    def __init__(
        self,
        store: Beats,
        beat: Beat,
        *,
        on_lost: Callable[[Claim, str], None],
        on_drain: Callable[[], None],
    ) -> None:
        self._store = store
        self._beat = beat
        self._on_lost = on_lost
        self._on_drain = on_drain
        self._loop = asyncio.get_running_loop()
        self._held: dict[tuple[str, int], Claim] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        #: When the event loop was last asked to respond, if it has not done so yet.
        self._asked_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="holdfast-heartbeats", daemon=True)

    def start(self) -> bool:
        """Register the worker, however long that takes, and start the heartbeats.

        Returns False if `give_up` was called before. Raises errors that waiting does not change.
        """
        try:
            registered = self._register_patiently()
        except BaseException:
            self._store.close()
            raise
        if not registered:
            self._store.close()
            return False
        self._thread.start()
        return True

    def give_up(self) -> None:
        """Stop soon, without waiting for it, whether the worker is registered already or not."""
        self._stop.set()

    def _register_patiently(self) -> bool:
        waited = False
        while not self._stop.is_set():
            try:
                self._register()
            except HoldfastError as error:
                if not will_pass(error):
                    raise
                if not waited:
                    log.warning("cannot register the worker, trying again: %s", error)
                waited = True
                self._stop.wait(_PAUSE_S)
            else:
                if waited:
                    log.info("the worker is registered")
                return True
        return False

    def stop(self) -> None:
        """Stop, and remove the worker from the registry."""
        self._stop.set()
        self._thread.join()

    def _leave(self) -> None:
        try:
            self._store.remove_worker(self._beat.instance)
        except HoldfastError as error:
            log.warning("cannot remove the worker from the registry: %s", error)
        self._store.close()

    def hold(self, claims: Iterable[Claim]) -> None:
        """Start renewing leases."""
        with self._lock:
            self._held.update((claim.key, claim) for claim in claims)

    def release(self, claim: Claim) -> None:
        """Stop renewing a lease."""
        with self._lock:
            self._held.pop(claim.key, None)

    def _run(self) -> None:
        interval_s = self._beat.ttl_ms / 3000
        while not self._stop.wait(interval_s):
            self._check_loop()
            # Leases may be on other servers than the registry, and either may be away.
            self._try(self._renew)
            self._try(self._register)
        self._leave()

    def _try(self, beat: Callable[[], None]) -> None:
        try:
            beat()
        except HoldfastError as error:
            log.log(level(error), "heartbeat failed: %s", error)
        except Exception:
            # Without heartbeats the worker would lose every lease and not know it.
            log.exception("heartbeat failed")

    def _register(self) -> None:
        with self._lock:
            busy = min(len(self._held), self._beat.slots)
        draining = self._store.register_worker(replace(self._beat, busy=busy))
        if draining:
            self._loop.call_soon_threadsafe(self._on_drain)

    def _renew(self) -> None:
        with self._lock:
            held = list(self._held.values())
        leases = [(claim.id, claim.lease) for claim in held]
        answers = self._store.renew(leases, self._beat.ttl_ms)
        for claim, answer in zip(held, answers, strict=True):
            # It is gone if it was cancelled, and retention has removed it.
            if isinstance(answer, LeaseLost | ExecutionNotFound):
                self._loop.call_soon_threadsafe(self._on_lost, claim, str(answer))

    def _check_loop(self) -> None:
        """Warn when the event loop has not run since the last beat asked it to."""
        if self._asked_at is not None:
            silent_s = time.monotonic() - self._asked_at
            if silent_s > BLOCKED_S:
                log.warning(
                    "the event loop has been blocked for %.1f s; leases are renewed, but nothing "
                    "else runs: declare blocking tasks with `def`, or give them pool='process'",
                    silent_s,
                )
            return
        self._asked_at = time.monotonic()
        self._loop.call_soon_threadsafe(self._loop_answered)

    def _loop_answered(self) -> None:
        self._asked_at = None
