"""The rules by which a step journal and its code fit together."""

from __future__ import annotations

import pytest

from holdfast.errors import DuplicateStep, JournalMismatch
from holdfast.worker.journal import Journal


def journal_of(*names: str) -> Journal:
    """A journal in which earlier attempts recorded these steps."""
    return Journal("x1", {name: name.encode() for name in names})


def run(journal: Journal, *names: str) -> list[bytes | None]:
    """Ask for steps, one after the other."""
    found = []
    for name in names:
        journal.ask(name)
        found.append(journal.find(name))
        journal.settle()
    return found


def test_a_recorded_step_is_answered_and_a_new_one_runs() -> None:
    """In the order of the code."""
    journal = journal_of("a", "b")
    assert run(journal, "a", "b", "c") == [b"a", b"b", None]
    journal.finish()


def test_recorded_steps_may_be_asked_for_in_another_order() -> None:
    """All of them are found before anything new runs."""
    journal = journal_of("a", "b")
    assert run(journal, "b", "a", "c") == [b"b", b"a", None]
    journal.finish()


def test_an_empty_result_is_recorded_too() -> None:
    """No bytes is not the same as no step."""
    journal = Journal("x1", {"a": b""})
    assert run(journal, "a") == [b""]


def test_the_first_use_of_a_version_takes_the_current_one() -> None:
    """At the end of what is recorded; later attempts find the recorded number."""
    journal = journal_of("a")
    run(journal, "a")
    assert journal.version("ship", 2) == ("version:ship", 2, False)
    later = Journal("x1", {"a": b"", "version:ship": b"2", "b": b""})
    run(later, "a")
    assert later.version("ship", 3) == ("version:ship", 2, True)


def test_an_execution_that_is_past_a_new_version_keeps_1() -> None:
    """Its next recorded step shows that the old code was there."""
    journal = journal_of("a", "b")
    run(journal, "a")
    assert journal.version("ship", 2) == ("version:ship", 1, False)
    assert run(journal, "b", "c") == [b"b", None]
    journal.finish()


def test_code_may_stop_asking_for_a_version() -> None:
    """Once no execution follows the old one."""
    journal = Journal("x1", {"a": b"a", "version:ship": b"2"})
    assert run(journal, "a", "b") == [b"a", None]
    journal.finish()


def test_code_that_was_rolled_back_does_not_know_the_version() -> None:
    """It must not guess."""
    journal = Journal("x1", {"version:ship": b"3"})
    with pytest.raises(JournalMismatch, match="only versions up to 2"):
        journal.version("ship", 2)


def test_a_repeated_name_is_refused_by_name() -> None:
    """Two steps of one name would share a result."""
    journal = journal_of()
    run(journal, "charge")
    with pytest.raises(DuplicateStep, match="execution x1: two steps are called 'charge'") as twice:
        journal.ask("charge")
    assert twice.value.context == {"id": "x1", "step": "charge"}


def test_a_repeated_name_is_refused_while_the_first_still_runs() -> None:
    """Also in parallel."""
    journal = journal_of()
    journal.ask("charge")
    with pytest.raises(DuplicateStep, match="charge"):
        journal.ask("charge")


def test_a_new_step_before_recorded_ones_is_a_mismatch() -> None:
    """A renamed step must not run a second time under its new name."""
    journal = journal_of("charge", "mail")
    journal.ask("charge_card")
    with pytest.raises(JournalMismatch) as mismatch:
        journal.find("charge_card")
    message = str(mismatch.value)
    assert "recorded 'charge', 'mail', but the code reached the new step 'charge_card'" in message
    assert "Was step 'charge' renamed to 'charge_card'?" in message
    assert mismatch.value.context == {
        "id": "x1",
        "expected": ["charge", "mail"],
        "found": "step 'charge_card'",
        "problem": "Earlier attempts recorded 'charge', 'mail', but the code reached the new step "
        "'charge_card' without asking for it. Was step 'charge' renamed to 'charge_card'?",
    }


def test_a_step_that_was_added_is_named_as_one() -> None:
    """It does not look like a recorded one."""
    journal = journal_of("charge", "mail")
    journal.ask("check stock")
    with pytest.raises(JournalMismatch, match="Was step 'check stock' added before 'charge'"):
        journal.find("check stock")


def test_a_long_journal_is_named_in_short() -> None:
    """The context has all names."""
    journal = journal_of(*(f"item {number}" for number in range(9)))
    with pytest.raises(JournalMismatch, match="'item 4' and 4 more, but") as mismatch:
        journal.finish()
    assert len(mismatch.value.context["expected"]) == 9


def test_only_what_was_not_asked_for_is_shown() -> None:
    """The names point at the place."""
    journal = journal_of("a", "b", "c")
    run(journal, "a")
    journal.ask("new")
    with pytest.raises(JournalMismatch) as mismatch:
        journal.find("new")
    assert mismatch.value.context["expected"] == ["b", "c"]


def test_a_recorded_step_that_was_never_asked_for_is_a_mismatch_at_the_end() -> None:
    """A removed step had effects that the code no longer knows."""
    journal = journal_of("a", "b")
    run(journal, "a")
    with pytest.raises(
        JournalMismatch, match=r"recorded 'b', .* reached its end .*Was step 'b' removed"
    ) as mismatch:
        journal.finish()
    assert mismatch.value.context["found"] == "its end"


def test_a_journal_without_leftovers_ends() -> None:
    """Whether it is empty or used up."""
    journal_of().finish()
    journal = journal_of("a")
    run(journal, "a")
    journal.finish()


def test_parallel_steps_are_found_in_any_order() -> None:
    """What runs beside a recorded step may be new."""
    journal = journal_of("b")
    journal.ask("a")
    journal.ask("b")
    assert journal.find("a") is None
    assert journal.find("b") == b"b"
    journal.settle()
    journal.settle()
    journal.finish()


def test_parallel_branches_may_have_recorded_more_than_was_asked_for() -> None:
    """The fast branch was at its second step when the slow one was at its first."""
    journal = journal_of("fast 1", "fast 2")
    journal.ask("slow 1")
    journal.ask("fast 1")
    assert journal.find("slow 1") is None
    assert journal.find("fast 1") == b"fast 1"
    journal.settle()
    journal.ask("fast 2")
    assert journal.find("fast 2") == b"fast 2"


def test_a_removed_parallel_step_is_a_mismatch_at_the_end() -> None:
    """The second rule holds for parallel steps, too."""
    journal = journal_of("a", "b", "c")
    journal.ask("a")
    journal.ask("b")
    for name in "ab":
        journal.find(name)
        journal.settle()
    with pytest.raises(JournalMismatch, match="'c'"):
        journal.finish()


def test_unnamed_steps_are_numbered_by_kind() -> None:
    """The same code gives the same names in every attempt."""
    journal = journal_of()
    assert [journal.number(kind) for kind in ("sleep", "wait", "sleep")] == [
        "sleep:1",
        "wait:1",
        "sleep:2",
    ]


def test_a_step_can_be_looked_for_without_asking() -> None:
    """It counts neither as asked nor as new."""
    journal = Journal("e1", {"a": b"1"})
    assert journal.has("a")
    assert not journal.has("b")
    assert journal.outstanding == 0
    with pytest.raises(JournalMismatch):
        journal.finish()
