"""Tracebacks show the frames of the author, not those of Holdfast."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from holdfast.worker import tracebacks
from holdfast.worker.durations import to_ms
from holdfast.worker.stepping import try_step_blocking


def charge() -> None:
    """Fail in code of an author."""
    message = "the bank is closed"
    raise ConnectionError(message)


def order() -> None:
    """Call the code of an author through Holdfast."""
    try_step_blocking(charge, (), 0)


def order_carefully() -> None:
    """Raise another error because of one that came through Holdfast."""
    try:
        order()
    except ConnectionError as error:
        raise ValueError("no order") from error


def raised(fn: Callable[[], object]) -> BaseException:
    """Return what a function raises."""
    with pytest.raises(Exception) as caught:
        fn()
    return caught.value


def test_frames_of_holdfast_are_left_out() -> None:
    """Wherever they are between those of the author."""
    shown = tracebacks.text(raised(order))
    assert "in order" in shown
    assert "in charge" in shown
    assert "stepping.py" not in shown
    assert shown.endswith("ConnectionError: the bank is closed\n")


def test_causes_are_shown_in_the_same_way() -> None:
    """With the sentence that links them."""
    shown = tracebacks.text(raised(order_carefully))
    assert "in charge" in shown
    assert "direct cause" in shown
    assert "stepping.py" not in shown


def test_an_error_that_only_holdfast_has_frames_of_keeps_them() -> None:
    """Otherwise its place would be nowhere."""
    error = raised(lambda: to_ms("timeout", -1))
    link = error.__traceback__
    while link is not None and not link.tb_frame.f_code.co_filename.endswith("durations.py"):
        link = link.tb_next
    only_ours = error.with_traceback(link)
    assert "durations.py" in tracebacks.text(only_ours)
    assert tracebacks.of_task(only_ours) is link


def test_a_log_record_gets_the_same_frames() -> None:
    """The error itself stays as it is, for hooks."""
    error = raised(order)
    kept = [frame.name for frame in traceback.extract_tb(tracebacks.of_task(error))]
    assert kept == ["raised", "order", "charge"]
    assert "try_step_blocking" in [f.name for f in traceback.extract_tb(error.__traceback__)]
