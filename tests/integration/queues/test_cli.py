"""`holdfast queues` as a person uses it; commands run in this process, which is faster."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from holdfast.cli.main import run as holdfast


@pytest.fixture
def queues(
    real_url: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Run `holdfast queues ...` on a store of the test; returns the lines, or the error."""

    def run(*args: str, code: int = 0, stdin: str = "") -> list[str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capfd.readouterr()
        assert holdfast(["queues", *args, "--store", real_url]) == code
        done = capfd.readouterr()
        return (done.err if code else done.out).splitlines()

    return run


def test_the_life_of_messages_from_the_shell(queues: Any) -> None:
    """Define, push, peek, read, settle, dead letters and back, counts, purge, remove."""
    queues("define", "orders", "--dead-letter", "dead", "--max-attempts", "1", "--lock", "1m")
    queues("push", "orders", "-", "--lines", stdin='{"n": 1}\n{"n": 2}\n"three"\n')
    (peeked,) = [json.loads(line) for line in queues("peek", "orders", "--json")]
    assert [item["payload"] for item in peeked["items"]] == [{"n": 1}, {"n": 2}, "three"]
    assert queues("read", "orders", "--ack") == ['{"n": 1}']
    (delivery,) = [json.loads(line) for line in queues("read", "orders", "--json")]
    assert delivery["message"]["attempt"] == 1
    (pending,) = [json.loads(line) for line in queues("pending", "orders", "--json")]
    assert [item["id"] for item in pending["items"]] == [delivery["message"]["id"]]
    queues("settle", "orders", "nack", delivery["handle"], "--reason", "no stock")
    assert queues("redrive", "dead", "--dry-run", "--reason", "stock") == ["1 would be redriven"]
    assert queues("redrive", "dead") == ["1 redriven"]
    (stats,) = [json.loads(line) for line in queues("stats", "orders", "--json")]
    counts = stats["groups"]["default"]
    assert (counts["pushed"], counts["ready"], counts["dead"]) == (4, 2, 1)
    assert queues("tail", "orders", "--limit", "1") == ['"three"']
    assert queues("move", "orders", "dead", "--limit", "5") == ["1 moved"]
    assert queues("purge", "dead") == ["1 purged"]
    queues("rm", "orders")
    assert any("queue_not_found" in line for line in queues("read", "orders", code=3))


def test_groups_and_pauses_from_the_shell(queues: Any) -> None:
    """A fanout queue: groups with starts, a pause of one of them."""
    queues("define", "events", "--mode", "fanout")
    queues("push", "events", "1", "--priority", "-5")
    queues("group", "events", "all")
    queues("group", "events", "new", "--start", "end")
    queues("pause", "events", "--group", "all")
    assert queues("read", "events", "--group", "all") == []
    queues("resume", "events", "--group", "all")
    assert queues("read", "events", "--group", "all", "--ack") == ["1"]
    assert queues("read", "events", "--group", "new") == []
    shown = "\n".join(queues("show", "events"))
    assert "groups all, new" in shown
    listed = "\n".join(queues())
    assert "events > all" in listed
    queues("ungroup", "events", "all")
    assert "events > all" not in "\n".join(queues("ls"))


def test_wrong_usage_is_one_line(queues: Any) -> None:
    """With the exit code of its kind."""
    queues("define", "q")
    for args, code, word in (
        (("push", "q", "{"), 2, "invalid_input"),
        (("push", "nowhere", "1"), 3, "queue_not_found"),
        (("group", "q", "g"), 1, "queue_conflict"),
        (("settle", "q", "ack", "x"), 3, "unknown_delivery"),
        (("settle", "q", "eat", "x"), 2, "invalid_input"),
        (("group", "q", "g", "--start", "middle"), 2, "invalid_input"),
        (("define", "q", "--mode", "topic"), 2, "invalid_input"),
    ):
        lines = queues(*args, code=code)
        assert len(lines) == 1
        assert word in lines[0]


def test_queues_are_listed_in_the_same_order(queues: Any) -> None:
    """By name, whatever the order of their creation, whether they have groups or not."""
    for name in ("pears", "apples", "figs"):
        queues("define", name)
    for name in ("dates", "kiwis"):
        queues("define", name, "--mode", "fanout")
    groups = [f"g{number}" for number in range(9, 0, -1)]
    for group in groups:
        queues("group", "kiwis", group)
    _, _, *rows = queues()
    members = [f"kiwis > {group}" for group in sorted(groups)]
    names = ["apples", "dates", "figs", *members, "pears"]
    assert [row.partition("  ")[0] for row in rows] == names
