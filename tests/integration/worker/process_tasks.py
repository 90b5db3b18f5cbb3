"""Tasks for the process pool: a fresh process finds them by the name of this module."""

from __future__ import annotations

import os

from holdfast import App

app = App("embedded://unused")


class Awkward(Exception):
    """An error that cannot be rebuilt from its arguments, as many cannot."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")


@app.task(pool="process")
def square(n: int) -> tuple[int, int]:
    """Return the square and the process that computed it."""
    return n * n, os.getpid()


@app.task(pool="process")
def fail(reason: str) -> None:
    """Raise an error."""
    raise ValueError(reason)


@app.task(pool="process")
def fail_awkwardly() -> None:
    """Raise an error that cannot be unpickled."""
    raise Awkward(7, "no")


@app.task(pool="process")
def die() -> None:
    """End the process, as a crash in a C library would."""
    os._exit(3)
