"""Where every run of a task is written down: eight bytes, the monotonic clock in nanoseconds.

A file serves workers of any number of processes and of any language, and costs about a
microsecond for each task.
"""

import contextlib
import os
import struct
import time
from collections.abc import Iterator

_FILE = os.open(os.environ["BENCH_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
URL = os.environ.get("BENCH_STORE", "")
PAYLOAD = "x" * 100


def record() -> None:
    """Write down that a task ran."""
    os.write(_FILE, struct.pack("<q", time.monotonic_ns()))


@contextlib.contextmanager
def timing() -> Iterator[None]:
    """Print the seconds that the block took: the submission, without imports and connections."""
    started = time.monotonic()
    yield
    print(time.monotonic() - started, flush=True)
