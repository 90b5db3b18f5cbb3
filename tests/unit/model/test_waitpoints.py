"""Values of waiting."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.model.moments import from_ms
from holdfast.model.waitpoints import (
    Effect,
    NewSignal,
    NewWaitpoint,
    Signal,
    Source,
    decode_payload,
    parse_waitpoint_id,
    waitpoint_id,
)


@pytest.mark.parametrize(
    ("execution_id", "number"),
    [("e", 1), ("a/b:c@d.e-f_g", 10_000), ("e~3", 2), ("e~w1", 2), ("e~w", 1), ("w~w1~w2", 3)],
)
def test_the_id_of_a_waitpoint_tells_its_execution(execution_id: str, number: int) -> None:
    """Also if that looks like the id of a waitpoint itself."""
    made = waitpoint_id(execution_id, number)
    assert parse_waitpoint_id("waitpoint", made) == (execution_id, number)


@pytest.mark.parametrize(
    "value",
    [
        *("", "e", "e~w", "e~w0", "e~w01", "e~w-1", "e~w1.5", "e~w1 ", "e~w1\n", "~w1", "e~x1"),
        *("e e~w1", "ä~w1", "e\n~w1", "e~w१", "e~w1234567890", "x" * 257 + "~w1"),
        *(None, 5, b"e~w1", ["e~w1"]),
    ],
)
def test_what_is_not_the_id_of_a_waitpoint(value: Any) -> None:
    """It is refused under the name of its field."""
    with pytest.raises(InvalidInput) as raised:
        parse_waitpoint_id("waitpoint", value)
    assert raised.value.context == {"field": "waitpoint"}


def test_a_new_waitpoint_needs_a_name_only() -> None:
    """Everything else is open."""
    item = NewWaitpoint(name="gate")
    assert (item.signals, item.answerers, item.uses, item.expires_ms) == ((), (), None, None)
    assert (item.schema, item.title, item.key) == (None, "", None)


def test_lists_are_accepted_and_kept_as_tuples() -> None:
    """From JSON they are lists."""
    item = NewWaitpoint.from_fields({"name": "gate", "signals": ["a", "b*"], "answerers": ["ann"]})
    assert (item.signals, item.answerers) == (("a", "b*"), ("ann",))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "waitpoint.name"),
        ({"name": "two words"}, "waitpoint.name"),
        ({"name": 5}, "waitpoint.name"),
        ({"name": "n" * 129}, "waitpoint.name"),
        ({"expires_ms": 0}, "waitpoint.expires_ms"),
        ({"expires_ms": 1.5}, "waitpoint.expires_ms"),
        ({"expires_ms": float("inf")}, "waitpoint.expires_ms"),
        ({"expires_ms": bounds.DURATION_MS + 1}, "waitpoint.expires_ms"),
        ({"uses": 0}, "waitpoint.uses"),
        ({"uses": True}, "waitpoint.uses"),
        ({"uses": 1_000_001}, "waitpoint.uses"),
        ({"signals": "go"}, "waitpoint.signals"),
        ({"signals": ["a"] * 65}, "waitpoint.signals"),
        ({"signals": ["a b"]}, "waitpoint.signals"),
        ({"signals": ["a*b"]}, "waitpoint.signals"),
        ({"signals": [""]}, "waitpoint.signals"),
        ({"signals": [5]}, "waitpoint.signals"),
        ({"answerers": ["a"] * 65}, "waitpoint.answerers"),
        ({"answerers": [""]}, "waitpoint.answerers"),
        ({"answerers": ["a\nb"]}, "waitpoint.answerers"),
        ({"answerers": {"ann": 1}}, "waitpoint.answerers"),
        ({"title": "t" * 257}, "waitpoint.title"),
        ({"title": None}, "waitpoint.title"),
        ({"key": ""}, "waitpoint.key"),
        ({"key": "k" * 257}, "waitpoint.key"),
        ({"colour": "red"}, "waitpoint.colour"),
    ],
)
def test_what_cannot_be_a_waitpoint(fields: dict[str, Any], field: str) -> None:
    """Nothing is clamped or coerced."""
    with pytest.raises(InvalidInput) as raised:
        NewWaitpoint.from_fields({"name": "gate", **fields})
    assert raised.value.context == {"field": field}


@pytest.mark.parametrize("values", [None, [], "gate", {}])
def test_what_has_no_name(values: Any) -> None:
    """It is required."""
    with pytest.raises(InvalidInput):
        NewWaitpoint.from_fields(values)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"waitpoint": "e"}, "waitpoint"),
        ({"name": ""}, "name"),
        ({"name": "go*"}, "name"),
        ({"payload": "text"}, "payload"),
        ({"payload": None}, "payload"),
        ({"payload": b""}, "payload"),
        ({"payload": b"{"}, "payload"),
        ({"payload": b"nan"}, "payload"),
        ({"payload": b'"\xff"'}, "payload"),
        ({"payload": b'{"\xff":1}'}, "payload"),
        ({"payload": b"1 2"}, "payload"),
        ({"payload": b"[" * 5_000 + b"]" * 5_000}, "payload"),
        ({"source": "ann"}, "source"),
        ({"source": None}, "source"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": 5}, "idempotency_key"),
        ({"idempotency_key": "k" * 257}, "idempotency_key"),
        ({"idempotency_key": "\ud800"}, "idempotency_key"),
        ({"correlation": "c" * 257}, "correlation"),
        ({"correlation": None}, "correlation"),
    ],
)
def test_what_cannot_be_a_signal(fields: dict[str, Any], field: str) -> None:
    """Each field is checked."""
    with pytest.raises(InvalidInput) as raised:
        NewSignal(**{"waitpoint": "e~w1", "name": "go", **fields})
    assert raised.value.context == {"field": field}


def test_the_largest_payload() -> None:
    """One byte more is too large."""
    payload = b'"%s"' % (b"x" * (bounds.SIGNAL_BYTES - 2))
    assert NewSignal(waitpoint="e~w1", name="go", payload=payload).payload == payload
    with pytest.raises(TooLarge):
        NewSignal(waitpoint="e~w1", name="go", payload=payload + b" ")


@pytest.mark.parametrize("fields", [{"type": "t" * 129}, {"identity": "i" * 257}, {"type": "\0"}])
def test_what_cannot_be_a_source(fields: dict[str, str]) -> None:
    """Control characters would let one source look like another."""
    with pytest.raises(InvalidInput):
        Source(**fields)


def test_payloads_are_json() -> None:
    """Decoded as it is."""
    assert decode_payload('{"ü": [1, 2.5, null, true]}'.encode()) == {"ü": [1, 2.5, None, True]}
    signal = Signal(
        name="go", payload=b"[1]", source=Source(), at=from_ms(0), effect=Effect.APPENDED
    )
    assert signal.value == [1]
