"""Workers of a pack that die by SIGKILL at a node: `pack_worker PACK FOLDER`.

FOLDER/die names the node, FOLDER/deaths lists those where a worker died, FOLDER/visited all that
ran. Workers are forks of this process, so that the next one starts at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import final

from typing_extensions import override

from holdfast.host.flows.watching import Watcher
from holdfast.testing.pack_worker import prepared, serve


@final
class Death(Watcher):
    """Kills this process at a node, once."""

    def __init__(self, folder: Path) -> None:
        self._order = folder / "die"
        self._deaths = folder / "deaths"
        self._visited = folder / "visited"

    @override
    def entered(self, execution: str, flow: str, node: str) -> None:
        place = f"{flow}.{node}"
        _add(self._visited, place)
        if self._order.exists() and self._order.read_text() == place:
            self._order.unlink()
            _add(self._deaths, place)
            os.kill(os.getpid(), signal.SIGKILL)

    @override
    def left(self, flow: str, node: str, way: str) -> None:
        pass


def _add(file: Path, line: str) -> None:
    with file.open("a") as lines:
        lines.write(f"{line}\n")


def main(pack: Path, folder: Path) -> None:
    """Keep a worker running until one ends by itself."""
    app = prepared(pack, folder / "fakes", settable_clock=True, watcher=Death(folder))
    while True:
        child = os.fork()
        if child == 0:
            asyncio.run(serve(app))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
