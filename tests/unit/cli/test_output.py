"""What is written: JSON that keeps every digit, tables that keep ids whole, times for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.cli.terminal import output, times


def test_payloads_keep_every_digit_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A result is embedded as it was written."""
    output.emit({"result": output.payload(b'{"n": 12345678901234567890.50}')})
    assert '{"n": 12345678901234567890.50}' in capsys.readouterr().out


def test_payloads_that_are_not_json_are_base64(capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes by their content type or by their content."""
    raw = output.payload(b"\x00\xff", "application/octet-stream")
    output.emit([raw, output.payload(b"{bad"), output.payload(None)])
    found = json.loads(capsys.readouterr().out)
    assert found == [{"base64": "AP8="}, {"base64": "e2JhZA=="}, None]


def test_without_rows_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty table would puzzle."""
    output.show_table(("a",), [], nothing="no lanes")
    assert capsys.readouterr().out == "no lanes\n"


def test_progress_and_status_are_silent_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Logs of scripts stay clean."""
    with output.progress("working", 10) as advance, output.status("waiting") as tell:
        advance(3)
        tell("still waiting")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "12 ms"),
        (1.26, "1.3 s"),
        (75, "1 min 15 s"),
        (3_660, "1 h 1 min"),
        (90_000, "1 d 1 h"),
        (-2, "-2.0 s"),
        (-0.0001, "0 ms"),
    ],
)
def test_spans_have_at_most_two_units(seconds: float, text: str) -> None:
    """Short ones are exact, long ones readable."""
    assert times.span(seconds) == text


def test_moments_are_told_from_now() -> None:
    """Past and future, roughly."""
    now = datetime.now(UTC)
    assert times.ago(now - timedelta(minutes=5, seconds=30)) == "5 min ago"
    assert times.ago(now + timedelta(hours=2, seconds=30)) == "in 2 h"
    assert times.ago(now) == "0 s ago"
    assert times.ago(None) is None
    assert times.stamp(None) is None


def test_one_thing_is_not_several() -> None:
    """Numbers of things agree with their nouns."""
    counts = [output.count(number, "execution") for number in (0, 1, 2, 1200)]
    assert counts == ["0 executions", "1 execution", "2 executions", "1,200 executions"]
