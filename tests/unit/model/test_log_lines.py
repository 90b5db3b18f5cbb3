"""Log lines, as they come out of frames that any worker may have written."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from holdfast.model.frames import Frame
from holdfast.model.log_lines import level_name, lines_of, position

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _frame(content: object, kind: str = "log") -> Frame:
    payload = msgspec.json.encode(content)
    return Frame(id=7, attempt=1, type=kind, payload=payload, encoding=None, at=NOW)


def test_a_frame_holds_one_line_or_many() -> None:
    """Each has an id; a time of its own is used if it is one."""
    (line,) = lines_of([_frame({"level": "warning", "message": "low", "shelf": 3})])
    assert (line.id, line.at, line.level, line.fields) == ("7.1", NOW, "warning", {"shelf": 3})
    packed = [{"at": 1000, "level": "info", "message": "a"}, {"at": "soon", "message": "b"}]
    first, second = lines_of([_frame({"lines": packed})])
    assert (first.id, first.at.timestamp(), second.id, second.at) == ("7.1", 1, "7.2", NOW)
    assert position(second.id) == (7, 2)


@pytest.mark.parametrize(
    "content",
    [
        "words",
        [1, 2],
        None,
        {"level": ["loud"], "message": {"a": 1}, "logger": 3, "traceback": 4, "at": 10**30},
    ],
)
def test_strange_lines_are_shown_somehow(content: object) -> None:
    """A line with a surprising form never hides the others."""
    (line,) = lines_of([_frame(content)])
    assert (line.level, line.logger, line.traceback, line.at) == ("info", None, None, NOW)


def test_levels_filter_and_other_frames_have_no_lines() -> None:
    """A level between two counts as the lower one."""
    frames = [_frame({"level": level}) for level in ("debug", "error")] + [_frame({}, "json")]
    assert [line.level for line in lines_of(frames, "warning")] == ["error"]
    assert [level_name(number) for number in (5, 25, 50, 99)] == [
        *("debug", "info", "critical", "critical"),
    ]
