"""model.executions: what is asked for is checked when it is made."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.model.declarations import completed, stated
from holdfast.model.executions import OPTIONS, Failure, Lease, NewExecution
from holdfast.model.listing import Filter
from holdfast.model.references import Reference
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import State

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1, 12)  # noqa: DTZ001 - what the check must refuse
DURATIONS = ["delay_ms", "deadline_ms", "attempt_timeout_ms", "retention_ms"]
TEXTS = ["kind", "tenant", "lane", "id", "idempotency_key"]

#: A valid value of every field, unlike its default.
FULL: dict[str, Any] = {
    "kind": "mail/send",
    "input": b"{}",
    "id": "order-1~mail",
    "tenant": "acme",
    "lane": "bulk",
    "priority": -7,
    "requires": ("eu", "gpu"),
    "delay_ms": 50,
    "deadline_ms": 1_000,
    "attempt_timeout_ms": 100,
    "retry": RetryPolicy(max_attempts=3),
    "max_reclaims": 1,
    "max_replays": 2,
    "idempotency_key": "order 1",
    "tags": {"team": "a"},
    "retention_ms": 5,
}


def _refused(**fields: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        NewExecution(**{"kind": "work", **fields})
    return str(refused.value.context["field"])


def test_every_field_is_kept() -> None:
    """What is given is what is there."""
    made = NewExecution(**FULL)
    assert {name: getattr(made, name) for name in FULL} == FULL


@pytest.mark.parametrize("field", TEXTS)
@pytest.mark.parametrize("value", ["", 1, True, b"x", ["x"], "a\nb", "x" * 257])
def test_a_bad_text_is_refused(field: str, value: Any) -> None:
    """Every name has its validator."""
    assert _refused(**{field: value}) == field


@pytest.mark.parametrize("field", DURATIONS)
@pytest.mark.parametrize("value", [-1, 1.5, True, "5", math.nan, math.inf, bounds.DURATION_MS + 1])
def test_a_bad_duration_is_refused(field: str, value: Any) -> None:
    """Negative, fractional, endless and absurd durations are refused."""
    assert _refused(**{field: value}) == field


@pytest.mark.parametrize(("field", "least"), [("deadline_ms", 1), ("attempt_timeout_ms", 1)])
def test_a_time_limit_of_zero_is_refused(field: str, least: int) -> None:
    """Nothing can finish in no time."""
    assert _refused(**{field: least - 1}) == field
    NewExecution.from_fields({"kind": "work", field: least})


@pytest.mark.parametrize("value", [-1001, 1001, 1.5, True, "1", "", None, False, 0.0, [], math.nan])
def test_a_bad_priority_is_refused(value: Any) -> None:
    """Nothing is clamped, and an empty value of another type is no zero."""
    assert _refused(priority=value) == "priority"


@pytest.mark.parametrize("value", [-1000, 0, 1000])
def test_a_priority_at_its_bounds_is_accepted(value: int) -> None:
    """The bounds belong to the range."""
    assert NewExecution(kind="work", priority=value).priority == value


@pytest.mark.parametrize(
    "value", ["gpu", b"gpu", {"gpu": 1}, "", None, 0, {}, [f"c{n}" for n in range(65)]]
)
def test_bad_requirements_are_refused(value: Any) -> None:
    """A string is not a list of letters, and nothing is not an empty list."""
    assert _refused(requires=value) == "requires"


@pytest.mark.parametrize(
    "value", [None, "", [], 0, [("a", "b")], {f"t{n}": "v" for n in range(65)}]
)
def test_bad_tags_are_refused(value: Any) -> None:
    """Tags are a mapping, and a bounded one."""
    assert _refused(tags=value) == "tags"


def test_requirements_are_sorted_and_unique() -> None:
    """The same set of capabilities is the same route, however it is written."""
    assert NewExecution(kind="work", requires=("gpu", "eu", "gpu")).requires == ("eu", "gpu")


@pytest.mark.parametrize("value", ["text", None, 1, bytearray(b"x")])
def test_an_input_that_is_not_bytes_is_refused(value: Any) -> None:
    """Payloads are opaque bytes."""
    assert _refused(input=value) == "input"


def test_an_input_over_a_mebibyte_is_too_large() -> None:
    """The limit itself is allowed."""
    NewExecution(kind="work", input=b"x" * bounds.PAYLOAD_BYTES)
    with pytest.raises(TooLarge):
        NewExecution(kind="work", input=b"x" * (bounds.PAYLOAD_BYTES + 1))


@pytest.mark.parametrize("field", ["max_reclaims", "max_replays"])
@pytest.mark.parametrize("value", [-1, 1.0, True, "1", 1_000_001])
def test_a_bad_cap_is_refused(field: str, value: Any) -> None:
    """Caps are whole numbers in bounds."""
    assert _refused(**{field: value}) == field


@pytest.mark.parametrize("value", [3, {"max_attempts": 3}, "3", Backoff()])
def test_a_retry_policy_of_another_type_is_refused(value: Any) -> None:
    """A policy is a RetryPolicy."""
    assert _refused(retry=value) == "retry"


@pytest.mark.parametrize("value", [NAIVE, "2026-01-01", 1, True])
def test_a_start_that_is_no_moment_is_refused(value: Any) -> None:
    """A time without its zone is no moment."""
    assert _refused(run_at=value) == "run_at"


@pytest.mark.parametrize("delay_ms", [0, 1])
def test_a_start_and_a_delay_exclude_each_other(delay_ms: int) -> None:
    """Two answers to one question are refused."""
    assert _refused(run_at=NOON, delay_ms=delay_ms) == "run_at"


def test_an_unknown_field_is_refused() -> None:
    """A typing error must not be ignored."""
    with pytest.raises(InvalidInput) as refused:
        NewExecution.from_fields({"kind": "work", "priorty": 5})
    assert refused.value.context["field"] == "execution.priorty"


def test_a_missing_kind_is_refused() -> None:
    """The kind is the one field without a default."""
    with pytest.raises(InvalidInput) as refused:
        NewExecution.from_fields({"lane": "bulk"})
    assert refused.value.context["field"] == "kind"


def _digest(**fields: Any) -> str:
    return NewExecution(**{**FULL, **fields}).digest()


def test_the_digest_is_stable() -> None:
    """The same content has the same short digest each time it is made."""
    assert _digest() == _digest()
    assert len(_digest()) == 18


OTHER: dict[str, Any] = {
    "kind": "mail/sent",
    "input": b"[]",
    "tenant": "acne",
    "lane": "bulk2",
    "priority": -8,
    "requires": ("eu",),
    "delay_ms": 51,
    "deadline_ms": 1_001,
    "attempt_timeout_ms": 101,
    "retry": RetryPolicy(max_attempts=3, give_up_on=("ValueError",)),
    "max_reclaims": 2,
    "max_replays": 3,
    "tags": {"team": "b"},
    "retention_ms": 6,
    "budgets": ("b1",),
    "quotas": ("q1",),
    "on_end": "https://other.example/",
    "on_parent_end": "cancel",
}
WINDOWS = ("debounce", "throttle")


@pytest.mark.parametrize("field", OTHER)
def test_the_digest_differs_when_the_content_differs(field: str) -> None:
    """Every field of the content counts."""
    assert _digest(**{field: OTHER[field]}) != _digest()


def test_the_digest_differs_when_the_start_differs() -> None:
    """The start counts like the delay."""
    later = NOON + timedelta(milliseconds=1)
    assert _digest(delay_ms=None, run_at=NOON) != _digest(delay_ms=None, run_at=later)


def test_the_fields_of_the_digest_are_all_tested() -> None:
    """A new field must be put into the tests above."""
    beside = {"id", "idempotency_key", "run_at", "traceparent", "check", "unset", "said"}
    assert {*OTHER, *WINDOWS, *beside} == set(NewExecution.__dataclass_fields__)


def test_what_a_submission_leaves_to_its_task_is_known() -> None:
    """By the fields that were given; an item leaves out what has its default value."""
    assert NewExecution.from_fields({"kind": "k", "lane": "default"}).unset == OPTIONS - {"lane"}
    assert NewExecution(kind="k", lane="default").unset == OPTIONS
    assert NewExecution(kind="k", max_reclaims=0).unset == OPTIONS - {"max_reclaims"}
    assert NewExecution(kind="k", unset=frozenset()).unset == frozenset()


def test_a_completed_item_keeps_what_it_says_and_its_digest() -> None:
    """The declaration of the task may change; a repetition stays one."""
    item = NewExecution.from_fields({"kind": "k", "lane": "mine", "id": "x"})
    whole = completed(item, {"lane": "declared", "priority": 7, "budgets": ("b",)})
    assert (whole.lane, whole.priority, whole.budgets) == ("mine", 7, ("b",))
    assert whole.unset == frozenset()
    assert whole.digest() == item.digest()
    assert completed(item, {"lane": "declared"}) is item
    assert completed(whole, {"priority": 8}) is whole


def test_an_item_states_what_it_does_not_leave_to_its_task() -> None:
    """So that it can be sent on and means the same."""
    item = NewExecution.from_fields({"kind": "k", "retry": None, "priority": 0, "check": False})
    said = stated(item)
    assert said == {"kind": "k", "input": b"null", "retry": None, "priority": 0, "check": False}
    assert NewExecution.from_fields(said) == item


@pytest.mark.parametrize("naming", [{"id": "other"}, {"idempotency_key": "other"}])
def test_the_digest_ignores_the_names(naming: dict[str, Any]) -> None:
    """Names identify the execution; they are not its content."""
    assert _digest(**naming) == _digest()


def test_the_digest_ignores_the_order_of_tags_and_requirements() -> None:
    """The same content in another order is no conflict."""
    assert _digest(tags={"a": "1", "b": "2"}) == _digest(tags={"b": "2", "a": "1"})
    assert _digest(requires=("gpu", "eu")) == _digest(requires=("eu", "gpu"))


def test_the_digest_ignores_the_zone_in_which_a_moment_is_written() -> None:
    """The same moment is the same content."""
    berlin = NOON.astimezone(timezone(timedelta(hours=1)))
    assert _digest(delay_ms=None, run_at=NOON) == _digest(delay_ms=None, run_at=berlin)


def test_equal_policies_have_equal_digests() -> None:
    """A factor of 2 that became 2.0 on its way through JSON is no conflict."""
    whole = RetryPolicy(max_attempts=2, backoff=Backoff(factor=2, jitter=0))
    broken = RetryPolicy(max_attempts=2, backoff=Backoff(factor=2.0, jitter=0.0))
    assert whole == broken
    assert _digest(retry=whole) == _digest(retry=broken)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"type": ""}, "error.type"),
        ({"type": 1}, "error.type"),
        ({"type": "a\nb"}, "error.type"),
        ({"type": "x" * 129}, "error.type"),
        ({"message": 1}, "error.message"),
        ({"message": None}, "error.message"),
        ({"retryable": 1}, "error.retryable"),
        ({"retryable": None}, "error.retryable"),
        ({"retry_after_ms": -1}, "error.retry_after_ms"),
        ({"retry_after_ms": True}, "error.retry_after_ms"),
        ({"retry_after_ms": math.nan}, "error.retry_after_ms"),
        ({"retry_after_ms": bounds.DURATION_MS + 1}, "error.retry_after_ms"),
    ],
)
def test_a_bad_failure_is_refused(fields: dict[str, Any], named: str) -> None:
    """A failure is checked like any other input."""
    with pytest.raises(InvalidInput) as refused:
        Failure(**{"type": "ValueError", "message": "m", **fields})
    assert refused.value.context["field"] == named


@pytest.mark.parametrize("details", [object(), {1j}, "\ud800"])
def test_failure_details_that_are_no_json_are_refused(details: Any) -> None:
    """What cannot be stored is refused before anything is written."""
    with pytest.raises(InvalidInput) as refused:
        Failure(type="E", message="m", details=details).to_json()
    assert refused.value.context["field"] == "error"


def test_a_failure_over_its_limit_is_too_large() -> None:
    """A stack trace of megabytes is refused, not cut."""
    with pytest.raises(TooLarge):
        Failure(type="E", message="x" * bounds.ERROR_BYTES).to_json()


def test_a_failure_is_stored_as_type_message_and_details() -> None:
    """How to retry is an instruction, not part of the error."""
    failure = Failure(type="E", message="two\nlines", retry_after_ms=5, details={"n": 1})
    assert failure.to_json() == b'{"type":"E","message":"two\\nlines","details":{"n":1}}'
    assert Failure(type="E", message="m").to_json() == b'{"type":"E","message":"m"}'


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tenant": "a b"}, "tenant"),
        ({"tenant": ""}, "tenant"),
        ({"lane": 1}, "lane"),
        ({"kind": "a|b"}, "kind"),
        ({"state": "done"}, "state"),
        ({"state": 1}, "state"),
        ({"tag": ("a b", "c")}, "tag name"),
        ({"tag": ("a", "")}, "tag[a]"),
        ({"tag": ("a", 1)}, "tag[a]"),
        ({"tag": ("a",)}, "tag"),
        ({"tag": ("a", "b", "c")}, "tag"),
        ({"tag": "ab"}, "tag"),
        ({"tag": 5}, "tag"),
        ({"since": NAIVE}, "since"),
        ({"until": "2026-01-01"}, "until"),
    ],
)
def test_a_bad_filter_is_refused(fields: dict[str, Any], named: str) -> None:
    """A filter that cannot match anything sensible is the caller's fault."""
    with pytest.raises(InvalidInput) as refused:
        Filter(**fields)
    assert refused.value.context["field"] == named


def test_a_full_filter_is_accepted() -> None:
    """All filters may be combined."""
    wanted = Filter(
        tenant="acme",
        state=State.WAITING,
        lane="bulk",
        kind="mail/send",
        tag=("team", "a b"),
        since=NOON,
        until=NOON,
    )
    assert wanted.tag == ("team", "a b")


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (("", 1, 0), "lease.id"),
        (("a:b c", 1, 0), "lease.id"),
        (("a", 0, 0), "lease.epoch"),
        (("a", True, 0), "lease.epoch"),
        (("a", 1.0, 0), "lease.epoch"),
        (("a", 1, -1), "lease.attempt"),
        (("a", 1, "0"), "lease.attempt"),
        (("a", 2**60, 0), "lease.epoch"),
    ],
)
def test_a_bad_lease_from_outside_is_refused(values: tuple[Any, Any, Any], named: str) -> None:
    """A lease is three values, each with its check."""
    with pytest.raises(InvalidInput) as refused:
        Lease.checked(*values)
    assert refused.value.context["field"] == named


def test_the_fence_tells_lease_epoch_and_attempt() -> None:
    """All three are compared by the store."""
    assert Lease.checked("req1", 3, 2).fence == "req1:3:2"


def test_no_input_from_outside_is_taken_for_a_reference() -> None:
    """Whatever starts like one would be answered with the payload of somebody else."""
    forged = Reference("payloads/theirs/x", 1, "0").encode()
    with pytest.raises(InvalidInput, match="reserved"):
        NewExecution(kind="k", input=forged)
    with pytest.raises(InvalidInput, match="reserved"):
        NewExecution(kind="k").with_input(forged)
