"""What came of a seed: right, wrong, or without a verdict because work did not end in time."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.seeded.evidence import Evidence
from tests.chaos.seeded.history import History, Ledger
from tests.chaos.seeded.schedule import Schedule
from tests.chaos.seeded.workload.workload import UNENDED

#: How a problem begins if it is that something was waited for in vain.
UNFINISHED, BROKEN_OFF = "work did not end", "the seed broke off"
#: A worker that stands still for longer than its leases does not get on.
_STALLED_S = 1.0
#: Nor does one that waits for a processor for this share of the time.
_WAITED = 0.3


@dataclass
class Verdict:
    """What came of a seed."""

    schedule: Schedule
    took_s: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    history: History = field(default_factory=History)
    ledger: Ledger = field(default_factory=Ledger)
    #: What struck, with the time.
    log: list[str] = field(default_factory=list)
    evidence: Evidence | None = None
    #: For how long this process stood still at most, because others had the processor.
    stalled_s: float = 0.0
    #: For which share of the time a process of the seed waited for a processor.
    waited: float = 0.0

    @property
    def is_unfinished(self) -> bool:
        """Whether there is no verdict: something did not end in time, and nothing else is wrong."""
        if not self.problems:
            return False
        first, *others = self.problems
        return (
            first.startswith((UNFINISHED, BROKEN_OFF))
            and "Timeout" in first
            and all(UNENDED in other for other in others)
        )

    @property
    def is_starved(self) -> bool:
        """Whether the machine explains that it is unfinished."""
        return self.is_unfinished and (self.stalled_s > _STALLED_S or self.waited > _WAITED)

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong. Work that does not end for no reason may be, too."""
        return bool(self.problems) and not self.is_starved

    def __str__(self) -> str:
        faults = Counter(name for _, name in self.schedule.faults)
        named = ",".join(f"{name}x{n}" if n > 1 else name for name, n in sorted(faults.items()))
        calls = "/".join(str(self.calls[status]) for status in ("ok", "failed", "unknown"))
        verdict = f"{len(self.problems)} VIOLATIONS" if self.problems else "ok"
        if self.is_unfinished:
            verdict = "STARVED" if self.is_starved else "UNFINISHED"
            verdict += f" (stalled {self.stalled_s:.1f} s, waited {self.waited:.0%})"
        words = (f"seed {self.schedule.seed:>6}", f"{self.schedule.topology:<7}", f"{calls:<13}")
        return "  ".join([*words, f"{self.took_s:5.1f} s", verdict, named])

    def keep(self, folder: Path) -> Path:
        """Write schedule, histories, keys, logs and problems to a folder of its own."""
        own = folder / f"{self.schedule.topology}-{self.schedule.seed}"
        if self.evidence is not None:
            self.evidence.files["schedule.txt"] = "\n".join([str(self.schedule), "", *self.log, ""])
            self.evidence.files["problems.txt"] = "\n".join([str(self), *self.problems, ""])
            self.evidence.add_lines("calls", self.history.calls)
            self.evidence.add_lines("notes", self.ledger.notes)
            self.evidence.write(own)
        return own


class Waiting:
    """How long processes wait for a processor, as Linux counts it; nothing elsewhere."""

    def __init__(self, processes: Sequence[int]) -> None:
        self._began = time.monotonic()
        self._before = {pid: _waited_s(pid) for pid in (os.getpid(), *processes)}

    @property
    def share(self) -> float:
        """The share of the time that the one that waited most has waited."""
        took_s = max(time.monotonic() - self._began, 0.001)
        # Another process may have been started in the place of one.
        waits = (_waited_s(pid) - before for pid, before in self._before.items())
        return max(0.0, *waits) / took_s


def _waited_s(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
