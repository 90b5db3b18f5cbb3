"""Calls that the holder of a lease makes."""

from __future__ import annotations

from typing import Protocol

from holdfast.errors import LeaseLost
from holdfast.worker.outcomes import AttemptLost


class Holder(Protocol):
    """An attempt, as the holder of its lease."""

    def check(self) -> None:
        """Raise if the lease is lost."""
        ...

    def lose(self) -> None:
        """End the attempt: the lease is lost."""
        ...


def lost(holder: Holder, error: LeaseLost) -> AttemptLost:
    """End an attempt whose lease is lost; returns what to raise through its code."""
    holder.lose()
    return AttemptLost(str(error))


class Holding:
    """A block of such calls; a lost lease ends the attempt."""

    __slots__ = ("_holder",)

    def __init__(self, holder: Holder) -> None:
        self._holder = holder

    def __enter__(self) -> None:
        self._holder.check()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, LeaseLost):
            raise lost(self._holder, error) from error
