"""What people type becomes a value, or an error that names the option."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.cli.terminal import inputs
from holdfast.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("30", 30_000),
        ("1.5", 1_500),
        ("1.5s", 1_500),
        ("500ms", 500),
        ("10m", 600_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("0", 0),
    ],
)
def test_durations_have_units_and_are_seconds_without(text: str, ms: int) -> None:
    """All units are known."""
    assert inputs.duration_ms("delay", text) == ms


@pytest.mark.parametrize("text", ["", "x", "-1", "1 week", "1e3", "1w", "40000d", "inf"])
def test_other_durations_are_refused(text: str) -> None:
    """The error names the option."""
    with pytest.raises(InvalidInput) as refused:
        inputs.duration_ms("delay", text)
    assert refused.value.context["field"] == "delay"


def test_a_moment_is_a_time_or_how_long_ago() -> None:
    """A zone counts; without one it is local time."""
    assert inputs.moment("since", "2026-01-31T12:00+01:00") == datetime(2026, 1, 31, 11, tzinfo=UTC)
    ago = inputs.moment("since", "2h")
    assert ago is not None
    assert abs(datetime.now(UTC) - ago - timedelta(hours=2)) < timedelta(seconds=5)
    local = inputs.moment("since", "2026-01-31")
    assert local == datetime(2026, 1, 31).astimezone()
    assert inputs.moment("since", None) is None
    with pytest.raises(InvalidInput):
        inputs.moment("since", "yesterday")


def test_an_input_must_be_json_unless_it_is_raw() -> None:
    """It is passed on as it was typed."""
    assert inputs.payload('{"a": 1.50}') == b'{"a": 1.50}'
    assert inputs.payload("{bad", raw=True) == b"{bad"
    with pytest.raises(InvalidInput, match="input: is not JSON"):
        inputs.payload("{bad")


def test_an_input_is_read_from_a_file(tmp_path: Path) -> None:
    """A file that cannot be read is named; bytes that are no text are refused."""
    path = tmp_path / "in.json"
    path.write_text('{"a": 1}')
    assert inputs.payload(f"@{path}") == b'{"a": 1}'
    path.write_bytes(b'"\xff"')
    with pytest.raises(InvalidInput):
        inputs.payload(f"@{path}")
    with pytest.raises(InvalidInput, match=f"cannot read {tmp_path}/nothing"):
        inputs.payload(f"@{tmp_path}/nothing")


def test_an_input_is_read_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash means stdin."""
    stdin = io.TextIOWrapper(io.BytesIO(b"[1]"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert inputs.payload("-") == b"[1]"


def test_pairs_and_names_are_split() -> None:
    """A value may hold an equals sign; names may be separated by commas."""
    assert inputs.pairs("tag", ["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(InvalidInput, match="tag: must be NAME=VALUE, got 'a'"):
        inputs.pairs("tag", ["a"])
    assert inputs.names(["a,b", " c ", ""]) == ("a", "b", "c")
