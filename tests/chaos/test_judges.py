"""The judges of `make chaos` find what they are for."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holdfast.host.flows.declaring import APOLOGY
from holdfast.model.moments import from_ms
from holdfast.model.queues import GroupStats
from holdfast.model.session_keys import SessionKey, session_of
from holdfast.model.sessions import Entry
from holdfast.store.store import Store
from tests.chaos.seeded import attempts, schedule, table
from tests.chaos.seeded.clock import StoreClock
from tests.chaos.seeded.evidence import Evidence
from tests.chaos.seeded.faults import FAULTS
from tests.chaos.seeded.history import Call, History, Ledger, Note, Status, happened
from tests.chaos.seeded.verdict import Verdict, Waiting
from tests.chaos.seeded.workload import (
    flows,
    queues,
    replies,
    sessions,
    splits,
    streams,
    tasks,
)

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
        (b"waiting", [], "has not ended"),
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


def entries(*lines: tuple[str, int | None, str]) -> list[Entry]:
    """Return a transcript: directions, turns and texts."""
    return [
        Entry(
            number=number,
            at=from_ms(0),
            direction=cast("Any", direction),
            payload=f'{{"text": "{text}"}}'.encode(),
            turn=turn,
            delivery="sent",
        )
        for number, (direction, turn, text) in enumerate(lines, 1)
    ]


HELLO: list[tuple[str, int | None, str]] = [("in", None, "a"), ("out", 1, "red: hello a")]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([*HELLO, ("in", None, "b"), ("out", 3, "red: bye b")], ""),
        ([*HELLO, ("in", None, "b"), ("out", 3, "gold: bye b")], "should be one of"),
        ([*HELLO, ("out", 1, "red: hello a")], "should be one of"),
        ([*HELLO, ("in", None, "a"), ("out", 3, "red: bye a")], "delivered twice"),
        ([*HELLO, ("in", None, "b"), ("out", 3, "red: bye b"), ("out", 1, APOLOGY)], "side by"),
        ([*HELLO, ("in", None, "b")], "has not ended"),
        ([*HELLO, ("out", 1, APOLOGY), ("in", None, "b"), ("out", 4, "gold: hello b")], ""),
    ],
)
def test_a_conversation_with_a_wrong_answer_is_found(
    lines: list[tuple[str, int | None, str]], problem: str
) -> None:
    """Another revision, a second answer, a message twice, turns side by side; not an apology."""
    found = list(flows.judge(entries(*lines)))
    assert any(problem in text for text in found) if problem else found == []


def test_an_answer_that_is_not_in_the_transcript_is_found() -> None:
    """What a caller was answered is what the session has, and what it sent is there."""
    (reply,) = entries(("out", 1, "red: hello a"))
    answer = SimpleNamespace(done=True, replies=[reply])
    calls = {"a": [Call("p0", "handle", "a", 0.0, {}, 1.0, OK, answer=answer)]}
    assert list(flows.judge_answers(calls, {"a": ["red: hello a"]})) == []
    assert "transcript has" in next(iter(flows.judge_answers(calls, {"a": ["red: bye a"]})))
    assert "is lost" in next(iter(flows.judge_answers(calls, {})))


def test_a_reply_that_is_missing_or_out_of_order_is_found() -> None:
    """A session says one reply to each message, in their order."""
    assert sessions._judge(entries(("in", None, "a"), ("out", 1, "re a"))) == []
    assert "has not ended" in sessions._judge(entries(("in", None, "a")))[0]
    twice = entries(("in", None, "a"), ("out", 1, "re a"), ("out", 1, "re a"))
    assert sessions._judge(twice) == ["heard ['a'], said ['re a', 're a']"]


def test_a_reply_that_arrives_otherwise_than_it_was_written_is_found() -> None:
    """A repeated one is the same; none comes before the one before it, and none is missing."""
    lines = entries(("out", 1, "re a"), ("out", 1, "re b"))
    one, two = note("sent", 0, 1.0, "s:1", "re a"), note("sent", 0, 2.0, "s:2", "re b")
    assert list(replies.judge(lines, [one, two, one])) == []
    assert "in the order [2, 1]" in next(replies.judge(lines, [two, one]))
    assert "did not arrive" in next(replies.judge(lines, [one]))
    other = note("sent", 0, 3.0, "s:1", "re x")
    assert "arrived as" in next(replies.judge(lines, [one, two, other]))


def test_turns_of_a_session_that_overlap_are_found() -> None:
    """An execution of a session records nothing once the next one has begun."""
    session = SessionKey(conversation="c", user="u", endpoint="e").id
    assert session_of(f"{session}~1") == session
    own = [
        Note("began", f"{session}~1", 1, 1.0, 1.0),
        Note("ran", f"{session}~1", 1, 4.0, 4.0, "s"),
        Note("stepped", f"{session}~1", 1, 4.0, 5.0, "s", "v"),
    ]
    assert judged(*own, Note("began", f"{session}~2", 1, 6.0, 6.0)) == []
    overlapping = judged(*own, Note("began", f"{session}~2", 1, 3.0, 3.0))
    assert "recorded s after" in overlapping[0]


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
    """Work that did not end is not wrong by itself, and a machine without time explains it."""
    late = ["work did not end: TimeoutError", "tasks: execution x has not ended: it is active"]
    unfinished = Verdict(schedule.draw(7, "pair"), problems=late)
    assert "UNFINISHED (stalled 0.0 s, waited 0%)" in str(unfinished)
    assert unfinished.is_wrong
    for stalled_s, waited in ((5.0, 0.0), (0.0, 0.5)):
        verdict = replace(unfinished, stalled_s=stalled_s, waited=waited)
        assert "STARVED (" in str(verdict)
        assert not verdict.is_wrong
        assert [line.is_unfinished for line in table.parse([str(verdict)])] == [True]


@pytest.mark.parametrize(
    "problems",
    [["tasks: lost"], ["work did not end: TimeoutError", "tasks: lost"], ["broke off: KeyError"]],
)
def test_a_starved_machine_excuses_nothing_else(problems: list[str]) -> None:
    """What is lost or broken is a violation, however busy the machine was."""
    wrong = Verdict(schedule.draw(7, "pair"), problems=problems, stalled_s=5.0)
    assert f"{len(problems)} VIOLATIONS" in str(wrong)
    assert wrong.is_wrong


def test_waits_for_a_processor_are_counted() -> None:
    """Waiting is a share of the time, and none for a process that is gone."""
    assert 0.0 <= Waiting([0]).share < 1.0


def test_the_table_counts_seeds_calls_and_faults() -> None:
    good = Verdict(schedule.draw(7, "pair"), calls=Counter(ok=40, failed=2, unknown=1))
    bad = Verdict(schedule.draw(8, "single"), calls=Counter(ok=10), problems=["lost"])
    late = Verdict(schedule.draw(9, "pair"), problems=["work did not end: TimeoutError"])
    lines = list(table.parse([str(good), "    a problem", str(bad), str(late)]))
    assert [(line.seed, line.topology, line.ok, line.is_right) for line in lines] == [
        (7, "pair", 40, True),
        (8, "single", 10, False),
        (9, "pair", 0, False),
    ]
    assert lines[0].faults == {name for _, name in good.schedule.faults}
    rendered = list(table.render(lines))
    assert "| seeds with a verdict | 1 | 1 | 0 |" in rendered
    assert "| seeds without a verdict | 0 | 1 | 0 |" in rendered
    assert "| seeds with violations | 1 | 0 | 0 |" in rendered
    assert "| calls acknowledged | 10 | 40 | 0 |" in rendered


def test_an_ack_is_doubted_only_if_the_clock_went_forward_meanwhile() -> None:
    clock = StoreClock(cast("Store", None), [])
    clock.jumps.append((2.0, 3.0, 120_000))
    assert clock.jumped(1.0, 2.5, 30_000)
    assert not clock.jumped(3.5, 4.0, 30_000)
    clock.jumps[0] = (2.0, 3.0, -120_000)
    assert not clock.jumped(1.0, 2.5, 30_000)
