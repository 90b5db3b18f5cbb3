"""An environment for each peer: what some of them need excludes what others need."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from bench.peers.peer import Peer

FOLDER = Path(__file__).parents[2] / ".peers"


class NotInstalled(Exception):
    """A peer cannot be installed here."""


def python_of(peer: Peer) -> Path:
    """Return the interpreter that runs a peer's programs; install the peer first if need be."""
    if not peer.needs:
        return Path(sys.executable)
    if peer.server and shutil.which(peer.server[0]) is None:
        raise NotInstalled(f"it needs the command `{peer.server[0]}` on the PATH")
    if (peer.folder / "package.json").exists():
        _install_packages(peer)
        return Path(sys.executable)
    digest = hashlib.sha256(" ".join(peer.needs).encode()).hexdigest()[:8]
    folder = FOLDER / f"{peer.name.lower()}-{digest}"
    ready = folder / "ready"
    python = folder / "bin" / "python"
    if not ready.exists():
        print(f"installing {peer.name} ...", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        _run([str(python), "-m", "pip", "install", "--quiet", *peer.needs], folder)
        ready.touch()
    return python


def versions_of(peer: Peer, python: Path) -> str:
    """Return the installed version of what a peer is named after."""
    if not peer.needs:
        return ""
    name = peer.needs[0].partition(">")[0].partition("[")[0]
    if (peer.folder / "package.json").exists():
        said = _run(["node", "-p", f"require('{name}/package.json').version"], peer.folder)
    else:
        code = f"from importlib.metadata import version; print(version('{name}'))"
        said = _run([str(python), "-c", code], peer.folder)
    return said.strip()


def _install_packages(peer: Peer) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise NotInstalled("it needs node and npm")
    if not (peer.folder / "node_modules").exists():
        print(f"installing {peer.name} ...", file=sys.stderr, flush=True)
        _run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], peer.folder)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled(done.stderr.strip()[-500:])
    return done.stdout
