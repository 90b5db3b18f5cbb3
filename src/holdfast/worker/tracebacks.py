"""Tracebacks of tasks without the frames of Holdfast."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType

_PACKAGE = f"{Path(__file__).resolve().parent.parent}{os.sep}"


def of_task(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error without Holdfast's frames, unless it has no others."""
    frames: list[TracebackType] = []
    link = error.__traceback__
    while link is not None:
        if not link.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            frames.append(link)
        link = link.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept or error.__traceback__


def text(error: BaseException) -> str:
    """Return the traceback of an error and its causes, without Holdfast's frames."""
    shown = traceback.TracebackException.from_exception(error)
    _drop_own(shown)
    return "".join(shown.format())


def _drop_own(shown: traceback.TracebackException) -> None:
    kept = [frame for frame in shown.stack if not frame.filename.startswith(_PACKAGE)]
    if kept:
        shown.stack[:] = kept
    for other in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if other is not None:
            _drop_own(other)
