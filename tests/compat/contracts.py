"""Record the contracts of this version: `python -m tests.compat.contracts VERSION`.

A release does this once. Later versions may add to what it wrote, and not take away from it.
"""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

from tests.compat import commands, functions, http, names
from tests.compat.recording import FOLDER


def write(version: str, kind: str, contract: Any) -> None:
    """Write one contract of a version."""
    text = json.dumps(contract, sort_keys=True).encode()
    (FOLDER / f"{version}.{kind}.gz").write_bytes(gzip.compress(text, mtime=0))


def read(kind: str) -> dict[str, Any]:
    """Return the contracts of one kind by version."""
    return {
        path.name.removesuffix(f".{kind}.gz"): json.loads(gzip.decompress(path.read_bytes()))
        for path in sorted(FOLDER.glob(f"*.{kind}.gz"))
    }


if __name__ == "__main__":
    write(sys.argv[1], "http", http.contract())
    write(sys.argv[1], "names", names.public())
    write(sys.argv[1], "commands", commands.options())
    write(sys.argv[1], "codes", commands.codes())
    write(sys.argv[1], "functions", functions.arguments())
