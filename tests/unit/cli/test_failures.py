"""Exit codes, and what is written when a command fails."""

from __future__ import annotations

import json

import pytest

from holdfast import errors
from holdfast.cli.terminal import failures
from holdfast.errors import HoldfastError
from holdfast.model.redaction import hide_secrets


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidInput, 2),
        (errors.TooLarge, 2),
        (errors.ExecutionNotFound, 3),
        (errors.WorkerNotFound, 3),
        (errors.StepNotFound, 3),
        (errors.ResultNotReady, 1),
        (errors.ExecutionFailed, 1),
        (errors.AlreadyTerminal, 1),
        (errors.LaneDraining, 1),
        (errors.StoreFull, 1),
        (errors.StoreUnavailable, 4),
        (errors.OutcomeUnknown, 4),
        (errors.StoreIncompatible, 4),
        (errors.StoreFault, 4),
    ],
)
def test_each_error_has_its_exit_code(error: type[HoldfastError], code: int) -> None:
    """Scripts rely on these numbers."""
    assert failures.exit_code(error("x")) == code


@pytest.mark.parametrize(
    "url",
    ["valkey://u:s3cret@h:1", "valkeys://:s3cret@h", "valkey://u:s3cret/@more@h,h2?prefix=x"],
)
def test_a_login_is_hidden_whatever_the_password_contains(url: str) -> None:
    """The rest of the text stays."""
    hidden = hide_secrets(f"cannot connect to {url}: refused")
    assert "s3cret" not in hidden
    assert hidden.startswith("cannot connect to valkey")
    assert hidden.endswith(": refused")


def test_an_error_is_one_line_that_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Line breaks and escape codes of a task's message are made harmless."""
    error = errors.ExecutionFailed("it\nfailed \x1b[31mred", id="x")
    assert failures.report_error(error, as_json=False) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "holdfast: it failed \\x1b[31mred (execution_failed)\n"


def test_an_error_for_programs_keeps_its_context(capsys: pytest.CaptureFixture[str]) -> None:
    """Structure stays, secrets do not."""
    error = errors.StoreUnavailable(
        "no", store="valkey://u:s3cret@h", tries=3, more={"list": [1, None, "a"]}
    )
    assert failures.report_error(error, as_json=True) == 4
    value = json.loads(capsys.readouterr().err)["error"]
    assert (value["code"], value["message"]) == ("store_unavailable", "no")
    assert value["context"] == {
        "store": "valkey://***@h",
        "tries": 3,
        "more": {"list": [1, None, "a"]},
    }
