"""A host that is killed leaves no process of a component behind."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import pytest

from holdfast.testing.polling import wait_for

_HOST = """
import asyncio
from holdfast.host.components import Components, Sandbox
from tests.support.components import call_of, pack_of

CODE = '''
import os, time

def run(input, host):
    return os.getpid()

def sleep(input, host):
    time.sleep(1000)
'''

async def main():
    pack = pack_of({"py": ("python", CODE)}, operations=("run", "sleep"))
    components = await Components.load(pack, Sandbox())
    pid = await components(call_of("py"))
    call = asyncio.ensure_future(components(call_of("py", operation="sleep")))
    for _ in range(5):
        await asyncio.sleep(0)
    print(pid, flush=True)
    await call

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can do that")
async def test_the_process_of_a_component_ends_with_a_killed_host() -> None:
    """Also in the midst of a call that would sleep for long."""
    host = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _HOST),
        cwd=Path(__file__).parents[4],
        stdout=asyncio.subprocess.PIPE,
    )
    assert host.stdout is not None
    pid = int(await host.stdout.readline())
    assert _runs(pid)
    host.send_signal(signal.SIGKILL)
    await host.wait()

    async def is_gone() -> bool:
        return not _runs(pid)

    assert await wait_for(is_gone)


def _runs(pid: int) -> bool:
    """Return whether a process runs; one that nobody has waited for does not."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
        return text.rpartition(")")[2].split()[0] != "Z"
    return False
