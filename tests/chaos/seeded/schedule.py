"""What a seed stands for: which workloads run, and which faults strike when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.chaos.seeded.faults import FAULTS, NEEDS
from tests.chaos.seeded.processes import Kind
from tests.chaos.seeded.workload import WORKLOADS, Workload

#: The share of seeds with real processes.
REAL = 0.15


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A plan for one seed."""

    seed: int
    topology: str
    #: How long clients work, in seconds.
    length_s: float
    #: Whether a worker, a server of the HTTP API and a host, if any, are processes of their own.
    is_real: bool
    workloads: tuple[type[Workload], ...]
    #: Faults in the order of their times.
    faults: tuple[tuple[float, str], ...]

    @property
    def needs_hosts(self) -> bool:
        """Whether hosts of packs run."""
        return any(kind.needs_hosts for kind in self.workloads)

    def __str__(self) -> str:
        lines = [f"seed {self.seed} on {self.topology}, {self.length_s:.2f} s"]
        lines += ["with real processes"] if self.is_real else []
        lines += ["workloads: " + ", ".join(kind.title() for kind in self.workloads)]
        lines += [f"{at:.3f} {name}" for at, name in self.faults]
        return "\n".join(lines)


def draw(seed: int, topology: str, only: Sequence[str] = ()) -> Schedule:
    """Return the schedule of a seed; `only` names other workloads than it draws."""
    random = Random(f"{seed} {topology}")
    length_s = random.uniform(0.8, 2.0)
    is_real = random.random() < REAL
    others = [kind for kind in WORKLOADS if kind is not WORKLOADS[0]]
    chosen = random.sample(others, k=min(len(others), random.randint(1, 3)))
    if only:
        chosen = [kind for kind in others if kind.title() in only]
    kinds = {Kind.SERVER} if is_real else set()
    if any(kind.needs_hosts for kind in chosen):
        kinds.add(Kind.HOST)
    known = {
        name: weight
        for name, (_, weight) in FAULTS[topology].items()
        if name not in NEEDS or NEEDS[name] in kinds
    }
    # Few sorts of faults at a time: together they show more than each in a crowd.
    sorts = random.sample(sorted(known), k=random.randint(1, 4))
    if is_real:
        sorts += random.sample(["kill-worker", "pause-worker", *_needing(Kind.SERVER)], k=2)
    if Kind.HOST in kinds:
        sorts += random.sample(_needing(Kind.HOST), k=1)
    count = random.randint(1, 6)
    names = random.choices(sorts, [known[name] for name in sorts], k=count)
    times = sorted(random.uniform(0.1, length_s) for _ in names)
    return Schedule(
        seed=seed,
        topology=topology,
        length_s=length_s,
        is_real=is_real,
        workloads=(WORKLOADS[0], *chosen),
        faults=tuple(zip(times, names, strict=True)),
    )


def _needing(kind: Kind) -> list[str]:
    """Return the faults that need such a process."""
    return sorted(name for name, needed in NEEDS.items() if needed is kind)
