"""Runs the function of a step: its retries, and the encoding of its result."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType
from typing import Any, get_type_hints
from weakref import WeakKeyDictionary

from holdfast.worker.encoding import Encoding
from holdfast.worker.outcomes import GiveUp
from holdfast.worker.streaming import InsideStep

_BACKOFF_S, _BACKOFF_MOST_S = 0.1, 10.0

_ANY = Encoding("result of a step", Any)
#: Hints and encodings by the code of a function.
_known: WeakKeyDictionary[CodeType, tuple[dict[str, Any], Encoding]] = WeakKeyDictionary()


def result_encoding(fn: Callable[..., Any]) -> Encoding:
    """Return the encoding of a step's result: by the hint of its function, if it has one.

    It is remembered for the code of the function, because a function inside a task is another one
    in each execution; and with the hints, because they may name types of that execution.
    """
    if isinstance(fn, type | BuiltinFunctionType):
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


async def try_step(fn: Callable[..., Any], args: tuple[Any, ...], retries: int) -> Any:
    """Call the function of a step, with retries."""
    for tried in range(retries + 1):
        try:
            with InsideStep():
                value = fn(*args)
                return await value if inspect.isawaitable(value) else value
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
