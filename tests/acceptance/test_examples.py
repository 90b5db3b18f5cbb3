"""The examples do what they say, each in a fresh folder, each with one command."""

from __future__ import annotations

import ast
import signal
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.processes import ROOT, python

EXAMPLES = ROOT / "examples"


def _run(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return python(str(EXAMPLES / name), folder=folder)


def test_hello_prints_the_result_and_nothing_else(tmp_path: Path) -> None:
    """The first program of a new user."""
    shown = _run("hello.py", tmp_path)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "Hello Ada\n", "")


def test_hello_is_at_most_15_lines() -> None:
    """What it promises is that it is short."""
    assert len((EXAMPLES / "hello.py").read_text().splitlines()) <= 15


def test_retries_succeeds_at_the_third_attempt(tmp_path: Path) -> None:
    """One failure by its backoff, one by the task's own wait."""
    shown = _run("retries.py", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "attempt 0: asking for EUR",
        "attempt 1: asking for EUR",
        "attempt 2: asking for EUR",
        "the rate is 1.07",
    ]
    assert "ConnectionError: the line is busy" in shown.stderr


def test_durable_steps_goes_on_after_the_crash(tmp_path: Path) -> None:
    """The first run dies by SIGKILL after the charge; the second does not charge again."""
    first = _run("durable_steps.py", tmp_path)
    assert first.returncode == -signal.SIGKILL, first.stderr
    assert first.stdout.splitlines() == [
        "order 7 is new",
        "charging card-4711: 1250 cents",
        "pulling the plug",
    ]
    second = _run("durable_steps.py", tmp_path)
    assert second.returncode == 0, second.stderr
    assert second.stdout.splitlines() == [
        "order 7 already exists",
        "shipping order 7",
        "done: {'receipt': 'receipt-1250', 'parcel': 'parcel-7'}",
    ]


def test_children_adds_up_what_the_children_counted(tmp_path: Path) -> None:
    """A child that fails does not take its parent with it."""
    shown = _run("children.py", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == ["page 2: the page is empty", "words: 7"]


def test_streaming_is_heard_word_by_word_and_again(tmp_path: Path) -> None:
    """The listener is told of the second attempt, and of the end."""
    shown = _run("streaming.py", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "Good morning Ada, ... trying again:",
        "Good morning Ada, how are you? ",
        "completed: {'words': 6, 'asked': True}",
    ]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_every_example_says_how_to_run_it(path: Path) -> None:
    """The docstring names the command, and this folder's tests run it."""
    about = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert f"python examples/{path.name}" in about or "make demo" in about
    tests = "".join(test.read_text() for test in Path(__file__).parent.glob("test_*.py"))
    assert path.name in tests


def test_approval_needs_two_people(tmp_path: Path) -> None:
    """One who approves twice counts once."""
    shown = _run("approval.py", tmp_path)
    assert shown.returncode == 0, shown.stderr
    *answers, last = shown.stdout.splitlines()
    assert [line.partition(":")[0] for line in answers] == [
        "ann approves",
        "ann approves",
        "ben approves",
    ]
    assert last == "refunded 1250 cents"


def test_queues_bills_every_order_without_a_failure(tmp_path: Path) -> None:
    """Also at its first run, when the queue is not there yet."""
    shown = _run("queues.py", tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines()[-1] == "corrected and billed: order 2"


def test_support_bot_refunds_after_an_approval(tmp_path: Path) -> None:
    """The customer is asked again, and the conversation waits for a colleague."""
    shown = _run("support_bot.py", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "ann: hello",
        "bot: Hello. I am the shop's bot.",
        "bot: What can I do for you?",
        "ann: a refund",
        "bot: Which order?",
        "ann: seventeen",
        "bot: Please answer with a whole number. Which order?",
        "ann: 17",
        "bot: Order 17, a teapot, is sent.",
        "bot: I am asking a colleague. This may take a while.",
        "bot: Done. Your receipt is R-17-1250.",
        "bot: Anything else?",
        "ann: no",
        "bot: Goodbye.",
    ]


def test_llm_assistant_uses_a_tool_and_remembers(tmp_path: Path) -> None:
    """Against the fake model of fake_model.py; the second run knows of the first."""
    first = _run("llm_assistant.py", tmp_path)
    assert first.returncode == 0, first.stderr
    *lines, used = first.stdout.splitlines()
    assert lines == [
        "user: Hello!",
        "assistant: You have written 1 times. Ask me about the weather in Oslo.",
        "user: How is the weather in Rome?",
        "assistant: I looked it up: Rome has 16 degrees.",
    ]
    assert used.startswith("tokens used: ")
    second = _run("llm_assistant.py", tmp_path)
    assert "You have written 3 times." in second.stdout
