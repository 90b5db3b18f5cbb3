"""The encodings of steps: made once for a function, however often a task defines it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from holdfast.worker.stepping import result_encoding


def _step(hint: Any) -> Callable[[], Any]:
    def step() -> Any: ...

    step.__annotations__["return"] = hint
    return step


def test_a_function_of_each_execution_has_one_encoding() -> None:
    assert result_encoding(_step(list[int])) is result_encoding(_step(list[int]))


def test_another_hint_is_another_encoding() -> None:
    """A type may be defined in the task, too."""
    for hint in (list[int], dict[str, int], list[int]):
        assert result_encoding(_step(hint)).hint == hint


def test_wrappers_have_the_hints_of_what_they_wrap() -> None:
    """They share their own code."""

    def wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def call(*args: Any) -> Any:
            return fn(*args)

        return call

    def one() -> list[int]: ...  # type: ignore[empty-body]

    def other() -> list[str]: ...  # type: ignore[empty-body]

    for _ in range(2):
        assert result_encoding(wrapper(one)).hint == list[int]
        assert result_encoding(wrapper(other)).hint == list[str]


def test_a_step_without_hints_takes_any_value() -> None:
    for fn in (lambda: 1, functools.partial(int, "1"), _step("Nowhere")):
        assert result_encoding(fn).hint is Any
