"""Who acts: the logs of deployments name the caller.

A server sets it for each call that it answers; a program on the store may do the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_current: ContextVar[str] = ContextVar("holdfast.actor", default="")
current = _current.get


def act_as(name: str) -> None:
    """Name the caller of everything that this task does from now on."""
    _current.set(name)


@contextlib.contextmanager
def acting_as(name: str) -> Iterator[None]:
    """Name the caller of everything that this task does in the block."""
    token = _current.set(name)
    try:
        yield
    finally:
        _current.reset(token)
