"""Runs a target: some inputs are traced, and those that reach new lines join the corpus."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Any

from tests.fuzz.mutating import mutated
from tests.fuzz.targets import Target

#: One of this many inputs is traced; that takes ten times as long.
_TRACED = 20
#: No input may take longer, in CPU time.
SLOW_S = 2.0
_MOST_KEPT = 2_000


@dataclass(slots=True)
class Failure:
    """An input that a parser did not take as it should."""

    data: bytes
    problem: str


@dataclass(slots=True)
class Run:
    """What came of a target."""

    inputs: int = 0
    refused: int = 0
    #: Inputs that were kept because they reached lines that none before had.
    kept: int = 0
    failures: list[Failure] = field(default_factory=list)


def run(target: Target, inputs: int, seed: int) -> Run:
    """Try inputs; the same seed tries the same ones, except where signatures and keys are new."""
    chance = Random(f"{seed} {target.name}")
    corpus = list(target.corpus)
    seen: set[tuple[str, int]] = set()
    found = Run()
    problems: set[str] = set()
    for number in range(inputs):
        data = corpus[number] if number < len(target.corpus) else mutated(chance, corpus)
        lines: set[tuple[str, int]] = set()
        began = time.thread_time()
        try:
            if number % _TRACED == 0 or number < len(target.corpus):
                with _traced(lines):
                    target.parse(data)
            else:
                target.parse(data)
        except target.refusals as error:
            str(error)
            found.refused += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            _note(found, problems, data, f"{type(error).__name__}: {str(error)[:200]}")
        if time.thread_time() - began > SLOW_S:
            _note(found, problems, data, "slow")
        if not lines <= seen and len(corpus) < _MOST_KEPT:
            seen |= lines
            corpus.append(data)
            found.kept += 1
        found.inputs += 1
    return found


def _note(found: Run, problems: set[str], data: bytes, problem: str) -> None:
    kind = problem.partition(":")[0]
    if kind not in problems:
        problems.add(kind)
        found.failures.append(Failure(data, problem))


@contextmanager
def _traced(lines: set[tuple[str, int]]) -> Iterator[None]:
    """Note the lines of ours that run."""

    def trace(frame: FrameType, _event: str, _argument: Any) -> Any:
        if "holdfast" not in frame.f_code.co_filename:
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
