"""What upstreams pass on gets into the input."""

from __future__ import annotations

import pytest

from holdfast.engine.upstream_results import merge
from holdfast.model.executions import ExecutionId, Outcome, Passed
from holdfast.model.states import State

#: JSON that no parser with a limit reads.
DEEP = b'{"y":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def outcome(result: bytes | None, state: State = State.COMPLETED, content: str = "") -> Outcome:
    return Outcome(
        id=ExecutionId("g~u"),
        state=state,
        result=result,
        content_type=content or "application/json",
        error={"type": "e", "message": "m"} if state is State.FAILED else None,
        reason="why" if state is State.CANCELLED else None,
    )


def passed(name: str, on: str = "s") -> Passed:
    return Passed(name=name, on=on, id="g~u", outcome=None)


def merged(payload: bytes, *given: tuple[str, Outcome | None]) -> bytes:
    return merge(payload, [passed(name) for name, _ in given], [end for _, end in given])


@pytest.mark.parametrize("payload", [b"null", b"{}", b" { } "])
def test_results_get_their_names(payload: bytes) -> None:
    """As they were written: numbers keep every digit."""
    exact = b"1234567890123456789.10"
    assert merged(payload, ("x", outcome(exact)), ("y", outcome(b"null"))) == (
        b'{"x":1234567890123456789.10,"y":null}'
    )


def test_what_was_submitted_stays() -> None:
    """An upstream of the same name wins."""
    assert merged(b'{"a": [1], "x": 0}', ("x", outcome(b"2"))) == b'{"a":[1],"x":2}'


def test_lists_collect_in_the_order_of_the_edges() -> None:
    """Those without a result are left out; a list without any is empty."""
    skipped = outcome(None, State.SKIPPED)
    found = merged(
        b"null",
        ("a[]", outcome(b"1")), ("b[]", skipped), ("a[]", skipped), ("a[]", outcome(b"3")),
    )  # fmt: skip
    assert found == b'{"a":[1,3],"b":[]}'


@pytest.mark.parametrize("end", [outcome(None, State.FAILED), outcome(None, State.WAITING), None])
def test_no_result_no_name(end: Outcome | None) -> None:
    """The task's default counts."""
    assert merged(b'{"a":1}', ("x", end)) == b'{"a":1}'


def test_an_edge_on_failure_passes_on_what_went_wrong() -> None:
    """With the id, so that a handler can look."""
    failed = merge(b"null", [passed("p", "f")], [outcome(None, State.FAILED)])
    assert failed == (
        b'{"p":{"id":"g~u","state":"failed","error":{"type":"e","message":"m"},"reason":null}}'
    )
    cancelled = merge(b"null", [passed("p", "f")], [outcome(None, State.CANCELLED)])
    assert cancelled == b'{"p":{"id":"g~u","state":"cancelled","error":null,"reason":"why"}}'


@pytest.mark.parametrize("end", [outcome(b'"fine"'), outcome(None, State.SKIPPED)])
def test_an_edge_on_failure_passes_on_failures_only(end: Outcome) -> None:
    """A join of any may start its member although other upstreams succeeded or were skipped."""
    bad = outcome(None, State.CANCELLED)
    edges = [passed("all[]", "f"), passed("all[]", "f"), passed("one", "f")]
    found = merge(b"null", edges, [end, bad, end])
    problem = b'{"id":"g~u","state":"cancelled","error":null,"reason":"why"}'
    assert found == b'{"all":[' + problem + b"]}"


def test_bytes_travel_as_base64() -> None:
    """JSON has no bytes."""
    assert merged(b"null", ("x", outcome(b"\x00\xff", content="image/png"))) == b'{"x":"AP8="}'


@pytest.mark.parametrize("payload", [b"7", b"[1]", b"\xff\xfe", b"", DEEP])
def test_an_input_that_is_no_object_is_left_alone(payload: bytes) -> None:
    """There is no place for names in it."""
    assert merged(payload, ("x", outcome(b"1"))) == payload
