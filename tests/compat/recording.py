"""A recording: every key of a store, and what the store said then."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"


@dataclass
class Recording:
    """What one version left."""

    version: str
    #: Execution ids by what they were submitted as.
    ids: dict[str, str]
    #: The state of each.
    states: dict[str, str]
    #: What the server's DUMP gave, by key. Keys that expire are left out: they would be gone.
    keys: dict[str, str]
    #: A graph; its first member waits for an answer.
    graph: str

    def write(self, name: str) -> Path:
        """Write the file."""
        path = FOLDER / f"{name}.json.gz"
        text = json.dumps(asdict(self), sort_keys=True).encode()
        path.write_bytes(gzip.compress(text, mtime=0))
        return path


def recorded() -> dict[str, Recording]:
    """Return all recordings by their name."""
    return {
        path.name.partition(".json")[0]: Recording(**json.loads(gzip.decompress(path.read_bytes())))
        for path in sorted(FOLDER.glob("*.json.gz"))
    }


def dump(client: Any) -> dict[str, str]:
    """Return every lasting key of a server."""
    lasting = [key for key in client.scan_iter(count=1_000) if client.pttl(key) == -1]
    return {key.decode(): base64.b64encode(client.dump(key)).decode() for key in lasting}


def restore(client: Any, keys: dict[str, str]) -> None:
    """Write keys into a server."""
    for key, value in keys.items():
        client.restore(key, 0, base64.b64decode(value))
