"""The process of a Python component. It runs alone: nothing of Holdfast is imported.

One JSON object per line comes in and goes out. The first line has the code and the limits; each
further line is a call. While a call runs, the component may send requests to the host, and reads
one answer for each.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import traceback
from types import SimpleNamespace
from typing import Any, NoReturn, TextIO

_FILES = 64
_FILE_BYTES = 16 << 20
#: The flag of a function that takes any number of arguments.
_VARARGS = 4


class Failed(Exception):
    """The component fails, with a code of its own."""

    def __init__(
        self, code: str, message: str = "", *, retryable: bool = False, retry_after_ms: int = 0
    ) -> None:
        super().__init__(message)
        self.error = {
            "code": code,
            "message": message,
            "retryable": retryable,
            "retry_after_ms": retry_after_ms,
        }


class Pipe:
    """Lines to and from the host."""

    def __init__(self) -> None:
        # What the component prints must not look like an answer.
        self._in: TextIO = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self._out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)

    def read(self) -> Any:
        """Return the next object; the process ends with the host."""
        line = self._in.readline()
        if not line:
            os._exit(0)
        return json.loads(line)

    def send(self, text: str) -> None:
        """Send a line."""
        self._out.write(text + "\n")
        self._out.flush()

    def ask(self, request: dict[str, Any]) -> Any:
        """Ask the host, and return its answer; raises Failed."""
        self.send(json.dumps({"request": request}))
        answer = self.read()
        if "error" in answer:
            error = answer["error"]
            raise Failed(error["code"], error["message"], retryable=error["retryable"])
        return answer["ok"]


class State:
    """The state of the tenant, of this pack."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def get(self, key: str) -> dict[str, Any] | None:
        """Return `{"value", "version"}`, or None."""
        found: dict[str, Any] | None = self._pipe.ask({"call": "state.get", "key": key})
        return found

    def set(
        self, key: str, value: Any, *, version: int | None = None, ttl_ms: int | None = None
    ) -> int:
        """Write a value and return its version; fails if it has another version than given."""
        request = {"call": "state.set", "key": key, "value": value}
        answer = self._pipe.ask({**request, "version": version, "ttl_ms": ttl_ms})
        return int(answer["version"])

    def remove(self, key: str, *, version: int | None = None) -> bool:
        """Remove a value, and return whether there was one."""
        request = {"call": "state.remove", "key": key, "version": version}
        return bool(self._pipe.ask(request))


class Host:
    """What the component may ask of the host."""

    Failed = Failed

    def __init__(self, pipe: Pipe, about: dict[str, Any]) -> None:
        self._pipe = pipe
        self.state = State(pipe)
        #: `execution`, `tenant`, `env`, `flow`, `node` and `idempotency_key`.
        self.call = SimpleNamespace(**about)

    def secret(self, name: str) -> str:
        """Return a secret that the pack declares."""
        return str(self._pipe.ask({"call": "secret.get", "name": name}))

    def http(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        """Call a web server; takes `headers`, `secret_headers` and `json`."""
        request = {"call": "http.send", "method": method, "url": url, **more}
        answer: dict[str, Any] = self._pipe.ask(request)
        return answer

    def log(self, message: str, level: str = "info") -> None:
        """Write a line to the log of the host."""
        self._pipe.ask({"call": "log", "message": message, "level": level})

    def emit(self, **activity: Any) -> None:
        """Reply, as `emit` nodes do."""
        self._pipe.ask({"call": "emit", "activity": activity})

    def fail(self, code: str, message: str = "", **more: Any) -> NoReturn:
        """Fail with a code; takes `retryable` and `retry_after_ms`."""
        raise Failed(code, message, **more)


def limit(memory_bytes: int) -> None:
    """Bound what the process can use."""
    import resource  # noqa: PLC0415 - not on every system

    def bound(what: int, most: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))

    bound(resource.RLIMIT_CORE, 0)
    bound(resource.RLIMIT_NOFILE, _FILES)
    bound(resource.RLIMIT_FSIZE, _FILE_BYTES)
    with contextlib.suppress(OSError):
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - fast start
            pages = int(file.read().split()[0])
        bound(resource.RLIMIT_AS, pages * resource.getpagesize() + memory_bytes)


def limit_cpu(seconds: int) -> None:
    """Bound the processor time of the call that begins."""
    import resource  # noqa: PLC0415 - not on every system

    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def die_with_parent() -> None:
    """End when the host ends, also in the midst of a call. Linux can do that."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - only here
    import signal  # noqa: PLC0415

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def load(first: dict[str, Any]) -> dict[str, Any]:
    """Run the code and return its functions by operation; raises LookupError."""
    names: dict[str, Any] = {"__name__": "component", "__file__": first["file"]}
    exec(compile(first["source"], first["file"], "exec"), names)  # noqa: S102 - this is its purpose
    found = {}
    for operation in first["operations"]:
        name = operation.replace("-", "_").replace(".", "_")
        if not callable(names.get(name)):
            message = f"there is no function `{name}` for the operation `{operation}`"
            raise LookupError(message)  # noqa: TRY004 - it may be missing
        found[operation] = with_host(names[name])
    return found


def with_host(function: Any) -> Any:
    """Return a function of the input and the host; one that takes only the input is fine, too."""
    code = getattr(function, "__code__", None)
    takes_input_only = code is not None and code.co_argcount == 1 and not code.co_flags & _VARARGS
    return (lambda given, _: function(given)) if takes_input_only else function


def error_of(error: BaseException) -> dict[str, Any] | None:
    """Return the failure that an exception means: one of a class that has a `code`."""
    if isinstance(error, Failed):
        return error.error
    code = getattr(type(error), "code", None)
    if not isinstance(code, str):
        return None
    return {"code": code, "message": str(error), "retryable": getattr(error, "retryable", False)}


def answer(functions: dict[str, Any], call: dict[str, Any], pipe: Pipe, file: str) -> str:
    """Run a call, and return the line with its outcome."""
    try:
        limit_cpu(call["cpu_s"])
        output = functions[call["operation"]](call["input"], Host(pipe, call["call"]))
        line = json.dumps({"output": output}, allow_nan=False)
    except MemoryError:
        return '{"broken": "component_memory"}'
    except RecursionError:
        return '{"broken": "component_stack_overflow"}'
    except BaseException as error:  # noqa: BLE001 - also SystemExit
        if (found := error_of(error)) is not None:
            return json.dumps({"failed": found})
        # The words of an error may hold anything, such as a secret; its kind and place do not.
        lines = [one.lineno for one in traceback.extract_tb(error.__traceback__)
                 if one.filename == file]  # fmt: skip
        place = f" in line {lines[-1]}" if lines else ""
        return json.dumps({"broken": "component_failed", "message": type(error).__name__ + place})
    if len(line) > call["output_bytes"]:
        return '{"broken": "component_output_too_large"}'
    return line


def main() -> None:
    """Serve calls until the host goes away."""
    die_with_parent()
    pipe = Pipe()
    first = pipe.read()
    limit(first["memory_bytes"])
    try:
        functions = load(first)
    except BaseException as error:  # noqa: BLE001 - whatever the code does
        words = f"{type(error).__name__}: {error}"
        pipe.send(json.dumps({"unfit": words[:500]}))
        return
    pipe.send('{"ready": true}')
    while True:
        pipe.send(answer(functions, pipe.read(), pipe, first["file"]))


if __name__ == "__main__":
    main()
