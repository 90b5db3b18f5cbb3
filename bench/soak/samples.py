"""Samples of everything that could grow, and the comparison of the quarters of a run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import median, quantiles

from bench.soak.stage import STEADY, Stage

#: By how much the last quarter may exceed the second one: a factor, and what is noise in any case.
_MB, _COUNT, _MS = (1.10, 8.0), (1.10, 30.0), (1.5, 20.0)
_ROOM = {"MB": _MB, "fds": _COUNT, "keys": (1.10, 500.0), "ms": _MS}
_DATA = (1.10, 1.0)
#: The log of calls over HTTP.
_AUDIT = "hf:{g}:audit:calls"
#: A file that is rewritten when it has doubled.
_FILE = (2.0, 32.0)


class Samples:
    """Values by name, each with the time of the run at which it was seen."""

    def __init__(self) -> None:
        self._values: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def add(self, at: float, values: dict[str, float]) -> None:
        """Keep what was seen at a time."""
        for name, value in values.items():
            self._values[name].append((at, value))

    def quarters(self, length: float) -> dict[str, list[float]]:
        """Return the median of each quarter of a run."""
        found: dict[str, list[float]] = {}
        for name, values in self._values.items():
            parts: list[list[float]] = [[], [], [], []]
            for at, value in values:
                parts[min(3, int(4 * at / length))].append(value)
            if all(parts):
                found[name] = [median(part) for part in parts]
        return found


def growth(quarters: dict[str, list[float]]) -> list[str]:
    """Return what has grown after the first quarter."""
    return [
        f"{name} grew from {second:,.1f} to {last:,.1f}"
        for name, (_, second, _, last) in quarters.items()
        if _has_grown(name, second, last)
    ]


def _has_grown(name: str, second: float, last: float) -> bool:
    unit = name.rsplit(" ", 1)[-1]
    special = {"append-only file, MB": _FILE, "Valkey data, MB": _DATA}
    factor, noise = special.get(name) or _ROOM[unit]
    return last > second * factor and last > second + noise


def look(stage: Stage, took: list[float]) -> dict[str, float]:
    """Return what can be seen now."""
    seen: dict[str, float] = {}
    for name in STEADY:
        pid = stage.processes[name].pid
        seen[f"{name}, MB"] = _resident_mb(pid)
        seen[f"{name}, fds"] = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    with stage.valkey.raw() as client:
        memory, stored = client.info("memory"), client.info("persistence")
        # It keeps its last 100,000 entries, and is not full before that.
        log = int(client.memory_usage(_AUDIT, samples=0) or 0)
        seen["Valkey data, MB"] = (int(memory["used_memory_dataset"]) - log) / 1e6
        seen["Valkey resident, MB"] = (int(memory["used_memory_rss"]) - log) / 1e6
        seen["append-only file, MB"] = int(stored["aof_current_size"]) / 1e6
        seen["all keys"] = float(client.dbsize())
        seen["Valkey, fds"] = len(list(Path(f"/proc/{stage.valkey.process.pid}/fd").iterdir()))
    if len(took) > 1:
        seen["submit to result p50, ms"] = median(took) * 1000
        seen["submit to result p99, ms"] = quantiles(took, n=100)[98] * 1000
    return seen


def _resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0
