"""The judges of `make chaos` find what they are for."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holdfast.model.queues import GroupStats
from holdfast.store.store import Store
from tests.chaos.seeded import attempts, schedule, table
from tests.chaos.seeded.clock import StoreClock
from tests.chaos.seeded.evidence import Evidence
from tests.chaos.seeded.faults import FAULTS
from tests.chaos.seeded.history import Call, History, Ledger, Note, Status, happened
from tests.chaos.seeded.seed import Verdict
from tests.chaos.seeded.workload import queues, splits, streams, tasks

OK, FAILED, UNKNOWN = Status.OK, Status.FAILED, Status.UNKNOWN


def note(what: str, epoch: int, at: float, name: str = "", value: Any = None) -> Note:
    return Note(what, "x", epoch, at, at, name, value)


def judged(*notes: Note) -> list[str]:
    return list(attempts.judge(Ledger(notes=list(notes)), set()))


def call(status: Status, **facts: Any) -> Call:
    return Call("p0", "call", "key", 0.0, facts, 1.0, status)


def test_a_step_that_changes_is_found() -> None:
    first = note("stepped", 1, 2.0, "s0", "one")
    assert judged(first, note("stepped", 2, 3.0, "s0", "one")) == []
    assert "s0 was one in epoch 1" in judged(first, note("stepped", 2, 3.0, "s0", "two"))[0]


def test_a_step_that_runs_again_after_it_was_recorded_is_found() -> None:
    recorded = note("stepped", 1, 2.0, "s0", "one")
    # The holder before it may still be running it.
    assert judged(recorded, note("ran", 1, 3.0, "s0")) == []
    assert "ran again in epoch 2" in judged(recorded, note("ran", 2, 3.0, "s0"))[0]


def test_a_write_of_an_older_holder_is_found() -> None:
    later = note("began", 2, 5.0)
    assert judged(note("began", 1, 1.0), note("charged", 1, 4.0), later) == []
    assert "after epoch 2 had begun" in judged(later, note("charged", 1, 6.0))[0]


def test_what_happened_is_known_by_the_best_answer() -> None:
    assert happened([call(FAILED), call(UNKNOWN), call(OK)]) is True
    assert happened([call(FAILED), call(UNKNOWN)]) is None
    assert happened([call(FAILED)]) is False


@pytest.mark.parametrize(
    ("state", "cancels", "problem"),
    [
        (b"completed", [], ""),
        (b"waiting", [], "never ended"),
        (b"failed", [], "never should"),
        (b"cancelled", [], "nobody did that"),
        (b"cancelled", [UNKNOWN], ""),
        (b"completed", [OK], "was cancelled and has completed"),
    ],
)
def test_a_wrong_end_is_found(state: bytes, cancels: list[Status], problem: str) -> None:
    record = {b"state": state, b"result": b'"done x"'}
    found = tasks._judge("x", record, [call(one) for one in cancels], [])
    assert problem in found[0] if problem else found == []


def test_counts_of_a_queue_that_do_not_add_up_are_found() -> None:
    counts = dict.fromkeys(GroupStats.__dataclass_fields__, 0)
    right = GroupStats(**{**counts, "pushed": 2, "acked": 1, "dead": 1})
    assert queues._judge_stats(right, {"a"}, {"b"}) == []
    assert queues._judge_stats(right, {"a", "b", "c"}, set()) != []
    lost = GroupStats(**{**counts, "pushed": 2, "acked": 1})
    assert "do not add up" in queues._judge_stats(lost, {"a", "b"}, set())[0]


def test_two_acks_of_one_message_are_found() -> None:
    counts = dict.fromkeys(GroupStats.__dataclass_fields__, 0)
    stats = GroupStats(**{**counts, "pushed": 1, "acked": 1})
    assert queues._judge_acks(stats, {"a": [call(OK, handle="h1"), call(OK, handle="h1")]}) == []
    twice = {"a": [call(OK, handle="h1"), call(OK, handle="h2")]}
    assert "two handles" in queues._judge_acks(stats, twice)[0]
    assert queues._judge_acks(stats, {"a": [call(FAILED, handle="h1")]}) != []


def test_a_generation_that_goes_back_is_found() -> None:
    def split(key: str, began: float, ended: float, generation: int) -> Call:
        answer = SimpleNamespace(generation=generation)
        return Call("p0", "split", key, began, {}, ended, OK, answer=answer)

    one, two = split("a", 1.0, 2.0, 5), split("b", 1.5, 1.8, 6)
    # The repeated call has the answer of the first one, which was under way with the other.
    assert splits._order([one, two, split("a", 2.1, 2.2, 5)]) == []
    assert splits._order([one, two, split("c", 2.1, 2.2, 5)]) == ["generation 5 came after 6"]


def test_a_lost_frame_is_found() -> None:
    assert list(streams._judge([], set())) == []
    assert "lacks frames" in next(streams._judge([], {2}))


async def test_a_call_keeps_what_became_of_it() -> None:
    history = History()

    async def answer() -> int:
        return 3

    assert await history.call("p0", "add", "k", answer()) == 3
    assert [(one.status, one.answer) for one in history.calls] == [(OK, 3)]


def test_a_seed_always_draws_the_same_schedule() -> None:
    for topology in FAULTS:
        assert schedule.draw(7, topology) == schedule.draw(7, topology)
        drawn = [schedule.draw(number, topology) for number in range(300)]
        struck = {name for one in drawn for _, name in one.faults}
        assert struck == set(FAULTS[topology])


def test_a_failing_seed_keeps_what_explains_it(tmp_path: Path) -> None:
    logs, kept = tmp_path / "logs", tmp_path / "kept"
    logs.mkdir()
    (logs / "p1.log").write_text("a worker of its own")
    verdict = Verdict(schedule.draw(7, "single"), problems=["something is wrong"])
    verdict.history.calls.append(call(OK, answer=1))
    verdict.ledger.notes.append(note("began", 1, 1.0))
    verdict.log.append("1.000 kill-worker 0: p1 is dead")
    verdict.evidence = Evidence([])
    with verdict.evidence.listening():
        logging.getLogger("holdfast.worker").warning("cannot register")
    verdict.evidence.gather(logs, {"hf:{g}:a": b"1"})
    folder = verdict.keep(kept)
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert "something is wrong" in texts["problems.txt"]
    assert "p1 is dead" in texts["schedule.txt"]
    assert "cannot register" in texts["processes.log"]
    assert texts["p1.log"] == "a worker of its own"
    assert texts["keys.txt"] == "hf:{g}:a b'1'\n"
    assert '"client": "p0"' in texts["calls.jsonl"]
    assert '"what": "began"' in texts["notes.jsonl"]


def test_a_seed_on_a_starved_machine_has_no_verdict() -> None:
    unfinished = Verdict(schedule.draw(7, "pair"), problems=["work did not end: TimeoutError"])
    assert "1 VIOLATIONS" in str(unfinished)
    unfinished.stalled_s = 5.0
    assert "STARVED for 5 s" in str(unfinished)
    assert list(table.parse([str(unfinished)])) == []
    lost = Verdict(schedule.draw(7, "pair"), problems=["tasks: lost"], stalled_s=5.0)
    assert "1 VIOLATIONS" in str(lost)


def test_the_table_counts_seeds_calls_and_faults() -> None:
    good = Verdict(schedule.draw(7, "pair"), calls=Counter(ok=40, failed=2, unknown=1))
    bad = Verdict(schedule.draw(8, "single"), calls=Counter(ok=10), problems=["lost"])
    lines = list(table.parse([str(good), "    a problem", str(bad)]))
    assert [(line.seed, line.topology, line.ok, line.is_right) for line in lines] == [
        (7, "pair", 40, True),
        (8, "single", 10, False),
    ]
    assert lines[0].faults == {name for _, name in good.schedule.faults}
    rendered = list(table.render(lines))
    assert "| seeds | 1 | 1 | 0 |" in rendered
    assert "| seeds with violations | 1 | 0 | 0 |" in rendered
    assert "| calls acknowledged | 10 | 40 | 0 |" in rendered


def test_an_ack_is_doubted_only_if_the_clock_went_forward_meanwhile() -> None:
    clock = StoreClock(cast("Store", None), [])
    clock.jumps.append((2.0, 3.0, 120_000))
    assert clock.jumped(1.0, 2.5, 30_000)
    assert not clock.jumped(3.5, 4.0, 30_000)
    clock.jumps[0] = (2.0, 3.0, -120_000)
    assert not clock.jumped(1.0, 2.5, 30_000)
