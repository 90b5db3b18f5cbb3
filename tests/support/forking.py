"""A process that has imported the package and forks another one for each command.

The tests start hundreds of commands, and most of their time would be imports. A command that is
started this way is a process of its own with its own arguments, folder, environment and streams.
It is run as a script: `tests.support.commands` starts it and sends the requests.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

import holdfast.cli
import holdfast.cli.main

#: What commands import when they need it.
_LATER = ("aiohttp", "jsonschema", "pydantic", "rich.live", "rich.table", "uvicorn", "uvloop")
_LARGEST_REQUEST = 1 << 20


def preload() -> None:
    """Import what commands use."""
    for module in pkgutil.walk_packages(holdfast.cli.__path__, "holdfast.cli."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in (*_LATER, "holdfast.client", "holdfast.engine", "holdfast.worker.app"):
        importlib.import_module(name)


def serve(listener: socket.socket) -> None:
    """Start a command for each connection, and report its end there."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                # The tests have ended.
                os._exit(0)
            if key.fileobj is listener:
                connection, _ = listener.accept()
                pid = fork(connection, listener)
                connection.sendall(f"{pid}\n".encode())
                pidfd = os.pidfd_open(pid)
                running[pidfd] = pid, connection
                selector.register(pidfd, selectors.EVENT_READ)
            else:
                pid, connection = running.pop(key.fd)
                selector.unregister(key.fd)
                os.close(key.fd)
                _, status = os.waitpid(pid, 0)
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                connection.close()


def fork(connection: socket.socket, listener: socket.socket) -> int:
    """Fork; the child runs the command and does not return."""
    request, streams, _, _ = socket.recv_fds(connection, _LARGEST_REQUEST, 3)
    while not request.endswith(b"\n"):
        request += connection.recv(_LARGEST_REQUEST)
    pid = os.fork()
    if not pid:
        listener.close()
        connection.close()
        become(json.loads(request), streams)
    for stream in streams:
        os.close(stream)
    return pid


def become(command: dict[str, Any], streams: list[int]) -> NoReturn:
    """Run the command in this process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.argv = ["holdfast", *command["args"]]
    # As in a script that pip installs, and with `python -m`.
    module = command["module"]
    sys.path[0] = command["folder"] if module else str(Path(sys.executable).parent)
    # The streams of this process have other files now.
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    if os.environ.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    leave(run(module))


def run(module: str) -> int:
    """Run the command or a module; returns the exit code."""
    try:
        if module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            holdfast.cli.main.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as Python does
        traceback.print_exc()
        return 1
    return 0


def leave(code: int) -> NoReturn:
    """End as Python does, but leave the memory of the modules to the system."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    preload()
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen(64)
        print("ready", flush=True)
        serve(server)
