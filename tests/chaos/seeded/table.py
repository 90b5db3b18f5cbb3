"""The table of `docs/guarantees.md`: what the lines of seeds say together.

python -m tests.chaos.seeded.table FILE...
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TOPOLOGIES = ("single", "pair", "cluster")
_LINE = re.compile(
    r"seed +(?P<seed>\d+)  (?P<topology>\w+) +(?P<ok>\d+)/(?P<failed>\d+)/(?P<unknown>\d+) +"
    r"[\d.]+ s  (?P<verdict>ok|\d+ VIOLATIONS|STARVED.*?\)|UNFINISHED.*?\))  (?P<faults>\S*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a seed printed."""

    seed: int
    topology: str
    #: How many calls were acknowledged, refused, or left unknown.
    ok: int
    failed: int
    unknown: int
    is_right: bool
    #: Whether it says nothing, because something did not end in time.
    is_unfinished: bool
    faults: frozenset[str]


def parse(lines: Iterable[str]) -> Iterator[Line]:
    """Return the seeds among the lines."""
    for text in lines:
        if match := _LINE.match(text):
            faults = (re.sub(r"x\d+$", "", fault) for fault in match["faults"].split(","))
            yield Line(
                seed=int(match["seed"]),
                topology=match["topology"],
                ok=int(match["ok"]),
                failed=int(match["failed"]),
                unknown=int(match["unknown"]),
                is_right=match["verdict"] == "ok",
                is_unfinished=match["verdict"].startswith(("STARVED", "UNFINISHED")),
                faults=frozenset(faults),
            )


def render(lines: list[Line]) -> Iterator[str]:
    """Return two tables: seeds and calls by topology, and seeds by fault."""
    every = {name: [line for line in lines if line.topology == name] for name in TOPOLOGIES}
    own = {name: [line for line in some if not line.is_unfinished] for name, some in every.items()}
    yield f"| | {' | '.join(TOPOLOGIES)} |"
    yield "|---|---|---|---|"
    rows = {
        "seeds with a verdict": [len(some) for some in own.values()],
        "seeds with violations": [sum(not line.is_right for line in some) for some in own.values()],
        "seeds without a verdict": [len(every[name]) - len(own[name]) for name in own],
        "calls acknowledged": [sum(line.ok for line in some) for some in own.values()],
        "calls refused": [sum(line.failed for line in some) for some in own.values()],
        "calls of unknown outcome": [sum(line.unknown for line in some) for some in own.values()],
    }
    for name, numbers in rows.items():
        yield f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"
    yield ""
    yield f"| fault | {' | '.join(TOPOLOGIES)} |"
    yield "|---|---|---|---|"
    counts = {name: Counter(one for line in own[name] for one in line.faults) for name in own}
    for fault in sorted(set().union(*counts.values())):
        yield f"| {fault} | {' | '.join(str(one[fault] or '') for one in counts.values())} |"


def main() -> None:
    """Print the tables of some files."""
    texts = (line for name in sys.argv[1:] for line in Path(name).read_text().splitlines())
    print("\n".join(render(list(parse(texts)))))


if __name__ == "__main__":
    main()
