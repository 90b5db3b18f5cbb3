"""When a schedule fires: cron in a time zone, an interval, or once. Pure arithmetic, in ms.

Cron behaves like Debian's cron when clocks change. A job at a fixed time that the change skips runs
right after the change; a job whose time occurs twice runs the first time. Jobs that run every hour
or more often follow real time, as if clocks had not changed.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from holdfast.model import bounds, checks
from holdfast.model.moments import from_ms, to_ms

_FIELDS = 5
#: After a long absence a scheduler examines this many ticks, then continues a day before now.
_MOST_LOOKS = 2_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One of cron, every_ms and at."""

    #: Five fields: minute, hour, day of month, month, day of week.
    cron: str | None = None
    every_ms: int | None = None
    #: The only tick.
    at: datetime | None = None
    #: A name of the IANA time zone database; for cron.
    timezone: str = "UTC"
    #: The time that an interval counts from; by default the creation of the schedule.
    start_at: datetime | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("cron", "every_ms", "at") if getattr(self, name) is not None]
        if len(given) != 1:
            checks.refuse("schedule", "must have exactly one of cron, every_ms and at", given)
        _zone(self.timezone)
        if self.timezone != "UTC" and self.cron is None:
            checks.refuse("timezone", "is allowed only with cron", self.timezone)
        if self.start_at is not None:
            checks.instant("start_at", self.start_at)
            if self.every_ms is None:
                checks.refuse("start_at", "is allowed only with every_ms", self.start_at)
        if self.cron is not None:
            self._check_cron()
        elif self.every_ms is not None:
            checks.integer("every_ms", self.every_ms, bounds.EVERY_MIN_MS, bounds.DURATION_MS)
        else:
            checks.instant("at", self.at)

    def _check_cron(self) -> None:
        cron = checks.text("cron", self.cron, bounds.CRON_CHARS, empty=False)
        if len(cron.split()) != _FIELDS:
            problem = "must have five fields: minute, hour, day of month, month, day of week"
            checks.refuse("cron", problem, cron)
        try:
            found = self.next_after(0, 0)
        except CronSimError as error:
            checks.refuse("cron", f"is not valid ({error})", cron)
        if found is None:
            checks.refuse("cron", "never fires", cron)

    def next_after(self, moment_ms: int, anchor_ms: int) -> int | None:
        """Return the first tick after a moment, None if there is none.

        An interval without `start_at` counts from `anchor_ms`.
        """
        if self.cron is not None:
            return next(self._cron_after(moment_ms), None)
        if self.every_ms is not None:
            start = anchor_ms if self.start_at is None else to_ms(self.start_at)
            if moment_ms < start:
                return start
            return start + ((moment_ms - start) // self.every_ms + 1) * self.every_ms
        once = to_ms(self.at) if self.at is not None else 0
        return once if once > moment_ms else None

    def _cron_after(self, moment_ms: int) -> Iterator[int]:
        """Yield ticks after a moment in ascending order."""
        simulated = CronSim(self.cron or "", from_ms(moment_ms).astimezone(_zone(self.timezone)))
        last = moment_ms
        for found in simulated:
            tick = to_ms(found)
            # When clocks change, a time may occur twice, or two ticks may become one.
            if tick > last:
                last = tick
                yield tick

    def following(self, tick: int) -> int | None:
        """Return the tick after another."""
        return self.next_after(tick, tick)

    def ticks(self, first_ms: int, until_ms: int, most: int) -> list[int]:
        """Return the last ticks, up to a maximum, from one tick until a moment, both included."""
        if first_ms > until_ms:
            return []
        if self.every_ms is not None:
            last = first_ms + (until_ms - first_ms) // self.every_ms * self.every_ms
            earliest = max(first_ms, last - (most - 1) * self.every_ms)
            return list(range(earliest, last + 1, self.every_ms))
        found = deque([first_ms], most)
        looks = 0
        tick = self.following(first_ms)
        while tick is not None and tick <= until_ms:
            found.append(tick)
            looks += 1
            after = tick
            if looks == _MOST_LOOKS:
                after = max(tick, until_ms - _DAY_MS)
            tick = self.following(after)
        return list(found)


def jitter_of(schedule_id: str, tick: int, jitter_ms: int) -> int:
    """Return how much later a tick fires: evenly distributed, and the same in every process."""
    if jitter_ms == 0:
        return 0
    digest = hashlib.blake2b(f"{schedule_id}\0{tick}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (jitter_ms + 1)


def _zone(name: str) -> tzinfo:
    checks.text("timezone", name, bounds.NAME_CHARS, empty=False)
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        checks.refuse("timezone", "is not in the time zone database", name)
