"""Metrics of processes that serve one port: whichever is asked answers for all of them.

Each process leaves its figures in a file now and then. The files of processes that have ended stay,
so that their sums do not fall when a process is replaced.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

log: logging.Logger = logging.getLogger(__name__)

EVERY_S = 5.0
#: Gauges of the processes themselves. The others are read from the store, and are the same in all.
_OWN_GAUGES = frozenset({"holdfast_http_waiting_calls", "holdfast_http_live_streams"})
_COUNTING = frozenset({"counter", "histogram"})
_CREATED = "_created"

#: The name of a sample, and its labels.
_Key = tuple[str, tuple[tuple[str, str], ...]]


class _Figure(msgspec.Struct, array_like=True):
    family: str
    name: str
    labels: dict[str, str]
    value: float


_decode = msgspec.json.Decoder(list[_Figure]).decode


class Siblings(Collector):
    """The metrics of this process together with those of the others."""

    def __init__(self, folder: Path, registry: CollectorRegistry) -> None:
        self._folder = folder
        self._registry = registry

    async def run(self) -> None:
        """Leave the figures of this process now and then, until cancelled."""
        while True:
            try:
                self.leave()
            except OSError as error:
                log.warning("the other processes cannot count the calls of this one: %s", error)
            await asyncio.sleep(EVERY_S)

    def leave(self) -> None:
        """Leave the figures of this process for the others."""
        figures = [
            _Figure(family.name, sample.name, sample.labels, sample.value)
            for family in self._registry.collect()
            if _is_summed(family)
            for sample in family.samples
        ]
        file = self._folder / str(os.getpid())
        whole = file.with_suffix(".new")
        whole.write_bytes(msgspec.json.encode(figures))
        whole.replace(file)

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of this process, with the sums of what all processes count."""
        others = list(self._others())
        for family in self._registry.collect():
            if _is_summed(family):
                _add(family, [figure for figure in others if figure.family == family.name])
            yield family

    def _others(self) -> Iterator[_Figure]:
        for file in self._folder.iterdir():
            if file.suffix or file.name == str(os.getpid()):
                continue
            lives = _lives(int(file.name))
            for figure in _decode(file.read_bytes()):
                if lives or figure.family not in _OWN_GAUGES:
                    yield figure


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _is_summed(family: Metric) -> bool:
    return family.type in _COUNTING or family.name in _OWN_GAUGES


def _add(family: Metric, figures: list[_Figure]) -> None:
    sums: dict[_Key, float] = {}
    for name, labels, value, *_ in family.samples:
        sums[name, tuple(labels.items())] = value
    for figure in figures:
        key = (figure.name, tuple(figure.labels.items()))
        if figure.name.endswith(_CREATED):
            sums[key] = min(figure.value, sums.get(key, figure.value))
        else:
            sums[key] = sums.get(key, 0.0) + figure.value
    family.samples.clear()
    for (name, pairs), value in sums.items():
        family.add_sample(name, dict(pairs), value)
