"""Bytes in and out, results against their hints, and the published JSON Schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, Field

from holdfast.errors import InvalidInput, NotSerializable
from holdfast.worker.context import Context
from holdfast.worker.signature import BYTES_CONTENT_TYPE, Signature, inspect_function

RAW = b"\x00\xff not json"


class Receipt(BaseModel):
    """A model with a constraint."""

    number: int
    total: float = Field(gt=0)


def signature_of(function: Callable[..., Any]) -> Signature:
    return inspect_function(function, (Context,))


def copy(data: bytes) -> bytes:
    return data


def test_a_single_bytes_parameter_gets_the_input_as_it_is() -> None:
    """No encoding stands between two ends that agree on their own."""
    signature = signature_of(copy)
    assert signature.encode((RAW,), {}) == RAW
    assert signature.encode((), {"data": RAW}) == RAW
    assert signature.decode(RAW) == {"data": RAW}
    assert signature.decode(b"null") == {"data": b"null"}


def test_a_context_beside_the_bytes_changes_nothing() -> None:
    """It is not part of the input."""

    async def task(ctx: Context, data: bytes) -> bytes:
        return data

    assert signature_of(task).decode(RAW) == {"data": RAW}


@pytest.mark.parametrize("value", ["text", bytearray(b"x"), None, 1])
def test_only_bytes_pass_as_bytes(value: Any) -> None:
    """Text has an encoding that we would have to guess."""
    with pytest.raises(InvalidInput, match="must be bytes"):
        signature_of(copy).encode((value,), {})


def test_bytes_with_a_default_may_be_left_out() -> None:
    """The function then runs with its default."""

    def task(data: bytes = b"default") -> bytes:
        return data

    signature = signature_of(task)
    assert task(**signature.decode(signature.encode((), {}))) == b"default"


def test_bytes_among_other_arguments_arrive_whole() -> None:
    """They are part of a JSON object then."""

    def task(data: bytes, number: int) -> None: ...

    signature = signature_of(task)
    arrived = signature.decode(signature.encode((RAW, 1), {}))
    assert arrived == {"data": RAW, "number": 1}


def test_a_bytes_result_is_stored_as_it_is() -> None:
    """It says so by its content type."""
    signature = signature_of(copy)
    assert signature.encode_result(RAW, "t") == (RAW, BYTES_CONTENT_TYPE)
    assert signature.decode_result(RAW) == RAW


@pytest.mark.parametrize("value", [None, 7, object()])
def test_a_result_that_is_not_the_promised_bytes_is_refused(value: Any) -> None:
    """Whoever waits for bytes gets bytes."""
    with pytest.raises(NotSerializable):
        signature_of(copy).encode_result(value, "t")


def test_a_result_is_checked_against_its_hint() -> None:
    """A task that breaks its promise fails, not the one that waits for it."""

    def task() -> Receipt:
        return Receipt(number=1, total=1)

    signature = signature_of(task)
    with pytest.raises(NotSerializable, match="number"):
        signature.encode_result({"total": 1}, "t")
    payload, content_type = signature.encode_result({"number": 1, "total": 2}, "t")
    assert content_type is None
    assert signature.decode_result(payload) == Receipt(number=1, total=2)


def test_a_result_that_cannot_be_json_is_refused() -> None:
    """Without a hint, too."""

    def task():  # type: ignore[no-untyped-def] # noqa: ANN202
        ...

    with pytest.raises(NotSerializable, match="object"):
        signature_of(task).encode_result(object(), "t")


def test_the_schema_describes_input_and_result() -> None:
    """Tools build forms and checks from it."""

    def task(order: int, note: str = "") -> Receipt:
        return Receipt(number=order, total=1)

    schema = signature_of(task).schema()
    assert schema["input"]["required"] == ["order"]
    assert schema["input"]["properties"]["order"]["type"] == "integer"
    assert schema["input"]["properties"]["note"]["default"] == ""
    assert schema["input"]["additionalProperties"] is False
    assert schema["result"]["required"][0] == "number"
    assert schema["result"]["properties"]["total"] == {
        "exclusiveMinimum": 0,
        "title": "Total",
        "type": "number",
    }


def test_the_schema_of_bytes_is_their_content_type() -> None:
    """There is no JSON to describe."""
    media = {"contentMediaType": BYTES_CONTENT_TYPE}
    assert signature_of(copy).schema() == {"input": media, "result": media}
