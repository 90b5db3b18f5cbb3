"""errors: one tree, stable codes, errors that survive a process boundary."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

from holdfast import errors
from holdfast.errors import HoldfastError

CLASSES = [
    cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, HoldfastError)
]


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_survives_pickling(cls: type[HoldfastError]) -> None:
    """Class, message, code and context arrive on the other side."""
    error = cls("it went wrong", id="x1", limit=5, nested={"a": [1]})
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is cls
    assert str(again) == again.message == "it went wrong"
    assert again.code == cls.code
    assert again.context == {"id": "x1", "limit": 5, "nested": {"a": [1]}}


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_can_be_copied(cls: type[HoldfastError]) -> None:
    """A copy is as good as the error."""
    again = copy.copy(cls("message", field="lane"))
    assert (type(again), again.context) == (cls, {"field": "lane"})


def test_codes_are_unique_words() -> None:
    """Programs compare codes, so no two classes share one."""
    codes = [cls.code for cls in CLASSES]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)


def test_every_class_says_what_it_means() -> None:
    """Each error has a sentence of its own."""
    sentences = [cls.__doc__ for cls in CLASSES]
    assert all(sentences)
    assert len(set(sentences)) == len(sentences)


def test_the_tree_at_the_head_names_every_family() -> None:
    """The drawing is complete and names nothing that does not exist."""
    drawn = set(re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*\b", str(errors.__doc__).split("`")[0]))
    names = {cls.__name__ for cls in CLASSES}
    assert {cls.__name__ for cls in HoldfastError.__subclasses__()} <= drawn
    assert not {word for word in drawn - names if re.search(r"[a-z][A-Z]", word)}


@pytest.mark.parametrize(
    ("family", "members"),
    [
        (
            "InvalidInput",
            {"TooLarge", "InvalidCondition", "InvalidPayload", "InvalidGraph", "Malformed"},
        ),
        ("Unauthorized", {"InvalidToken", "TokenExpired"}),
        ("Forbidden", {"SignalNotAllowed"}),
        ("InvalidGraph", {"CycleDetected"}),
        (
            "NotFound",
            {
                "ExecutionNotFound",
                "WorkerNotFound",
                "StepNotFound",
                "ResultNotReady",
                "WaitpointNotFound",
                "GraphNotFound",
                "ScheduleNotFound",
                *("BudgetNotFound", "QuotaNotFound", "ReservationNotFound"),
                "QueueNotFound",
                "GroupNotFound",
                "MessageNotFound",
                "UnknownDelivery",
                "KeyNotFound",
            },
        ),
        (
            "Conflict",
            {
                "IdConflict",
                "IdempotencyConflict",
                "AlreadyTerminal",
                "NotTerminal",
                "ReplayLimit",
                "TooManySteps",
                "LaneDraining",
                "NotSuspended",
                "WaitpointExists",
                "WaitpointClosed",
                "TooManyWaitpoints",
                "TooManySignals",
                "TokenUsedUp",
                "RotationConflict",
                "GraphFinished",
                "GraphNotFinished",
                "StaleGraph",
                "MemberStarted",
                "MemberOfGraph",
                "NothingToReplay",
                "StagingLost",
                "ScheduleConflict",
                "ScheduleChanged",
                "ScheduleMoved",
                *("BudgetConflict", "BudgetTooDeep", "QuotaConflict"),
                "QueueConflict",
                "InvalidDeadLetter",
                "TooManyGroups",
                "DedupConflict",
                "StaleDelivery",
                *("Held", "LostRace", "VersionConflict"),
                "TooManyKeys",
            },
        ),
        ("LeaseLost", {"StaleLease", "LeaseRevoked", "NotActive", "Fenced"}),
        ("Refused", {"StoreFull", "RotationBusy", "TooManyTails", "BudgetExceeded", "RateLimited"}),
        ("AccessDenied", {"Unauthorized", "Forbidden"}),
    ],
)
def test_families_can_be_caught_as_one(family: str, members: set[str]) -> None:
    """One except clause serves a family."""
    parent = getattr(errors, family)
    assert {cls.__name__ for cls in parent.__subclasses__()} >= members


def test_a_retry_of_the_unavailable_cannot_catch_an_unknown_outcome() -> None:
    """A call that may have happened is no call that did not."""
    assert not issubclass(errors.OutcomeUnknown, errors.StoreUnavailable)
    assert not issubclass(errors.StoreUnavailable, errors.OutcomeUnknown)
