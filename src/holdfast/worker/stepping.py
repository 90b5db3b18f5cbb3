"""Runs a step: its function with retries, and the encoding of its result."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType
from typing import Any, Protocol, get_type_hints
from weakref import WeakKeyDictionary

from holdfast.model.executions import Claim
from holdfast.tracing import Trace
from holdfast.worker.encoding import Encoding
from holdfast.worker.journal import Journal
from holdfast.worker.outcomes import GiveUp
from holdfast.worker.streaming import InsideStep

_BACKOFF_S, _BACKOFF_MOST_S = 0.1, 10.0

_ANY = Encoding("result of a step", Any)
#: What has no hint of a result.
_WITHOUT_HINTS = (type, BuiltinFunctionType)
#: Types of which no value can be awaited; asking in general takes longer.
_NOT_AWAITED = frozenset({type(None), bool, int, float, str, bytes, list, dict, tuple})
#: Hints and encodings by the code of a function.
_known: WeakKeyDictionary[CodeType, tuple[dict[str, Any], Encoding]] = WeakKeyDictionary()


def result_encoding(fn: Callable[..., Any]) -> Encoding:
    """Return the encoding of a step's result: by the hint of its function, if it has one.

    It is remembered for the code of the function, because a function inside a task is another one
    in each execution; and with the hints, because they may name types of that execution.
    """
    if isinstance(fn, _WITHOUT_HINTS):
        return _ANY
    unwrapped = inspect.unwrap(fn) if hasattr(fn, "__wrapped__") else fn
    code = getattr(unwrapped, "__code__", None)
    hints = getattr(fn, "__annotations__", None)
    known = None if code is None else _known.get(code)
    if known is not None and known[0] == hints:
        return known[1]
    try:
        returns = get_type_hints(fn).get("return", Any)
    except (NameError, TypeError):
        return _ANY
    encoding = _ANY if returns is Any else Encoding("result of the step", returns)
    if code is not None and hints is not None:
        _known[code] = (hints, encoding)
    return encoding


def _pause(tried: int) -> float:
    longest: float = min(_BACKOFF_MOST_S, _BACKOFF_S * 2**tried)
    return longest * random.uniform(0.5, 1)  # noqa: S311


class Attempt(Protocol):
    """The parts of an attempt that a step needs."""

    journal: Journal
    trace: Trace

    @property
    def claim(self) -> Claim:
        """The claim."""
        ...

    def check(self) -> None:
        """Raise if the lease is lost."""
        ...

    async def record(self, name: str, result: bytes) -> bytes:
        """Write a step to the store; returns the recorded result."""
        ...


async def run_step(
    attempt: Attempt, name: str, fn: Callable[..., Any], args: tuple[Any, ...], retries: int
) -> Any:
    """Return the recorded result of a step that was asked for, or run it and record its result."""
    encoding, journal = result_encoding(fn), attempt.journal
    try:
        attempt.check()
        result = journal.find(name)
        if result is None:
            with attempt.trace.step(name):
                if retries:
                    value = await _try_step(fn, args, retries)
                else:
                    with InsideStep():
                        value = fn(*args)
                        if _is_awaitable(value):
                            value = await value
                made = encoding.encode_result(value, attempt.claim.kind, name)
            result = await attempt.record(name, made)
    finally:
        journal.settle()
    return encoding.decode(result)


def _is_awaitable(value: Any) -> bool:
    return type(value) not in _NOT_AWAITED and inspect.isawaitable(value)


async def _try_step(fn: Callable[..., Any], args: tuple[Any, ...], retries: int) -> Any:
    """Call the function of a step, with retries."""
    for tried in range(retries + 1):
        try:
            with InsideStep():
                value = fn(*args)
                return await value if _is_awaitable(value) else value
        except Exception as error:
            if tried == retries or isinstance(error, GiveUp):
                raise
            await asyncio.sleep(_pause(tried))
    raise AssertionError


def try_step_blocking(fn: Callable[..., Any], args: tuple[Any, ...], retries: int) -> Any:
    """Call the function of a step in this thread, with retries."""
    for tried in range(retries + 1):
        try:
            with InsideStep():
                return fn(*args)
        except Exception as error:
            if tried == retries or isinstance(error, GiveUp):
                raise
            time.sleep(_pause(tried))
    raise AssertionError
