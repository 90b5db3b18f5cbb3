"""The program that loads packs on trial: `python -m holdfast.host.trial MEMORY_MB SECONDS`.

It reads archives in msgpack from its input and loads them as a host does, within bounds on memory
and processor time. It exits with 0 if that ended, whatever came of it: the host finds the defects
of a pack by itself. Only a pack that ends the process, or does not end, never gets that far.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

import msgspec

#: The exit code of a process that had too little memory.
NO_MEMORY = 3


def _limit(memory_mb: int, seconds: int) -> None:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    # Not RLIMIT_AS: sandboxes reserve addresses by the gigabyte, and use few of them.
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, memory_mb << 20),
        (resource.RLIMIT_CPU, seconds),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))


def _load(archives: list[bytes]) -> None:
    from holdfast.host.components import Components, Sandbox, Services  # noqa: PLC0415
    from holdfast.host.flows.runners import READ_ONLY  # noqa: PLC0415
    from holdfast.host.loading import read_flows  # noqa: PLC0415
    from holdfast.host.packs import Trust, bundle, load_archive  # noqa: PLC0415

    main, *overlays = [load_archive(data, Trust(unsigned=True)) for data in archives]
    packs = bundle(main, overlays)
    read_flows(packs, READ_ONLY)
    box = Sandbox()
    asyncio.run(Components.load(packs, box, Services()))


def main() -> int:
    """Load the packs of the standard input."""
    from holdfast.errors import HoldfastError  # noqa: PLC0415
    from holdfast.host.components.python.child import die_with_parent  # noqa: PLC0415

    die_with_parent()
    archives = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[bytes])
    _limit(int(sys.argv[1]), int(sys.argv[2]))
    try:
        _load(archives)
    except HoldfastError:
        pass
    except MemoryError:
        return NO_MEMORY
    return 0


if __name__ == "__main__":
    # Threads of the sandbox must not keep the process.
    code = main()
    sys.stdout.flush()
    import os

    os._exit(code)
