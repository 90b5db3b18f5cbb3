"""Arguments and results as JSON, checked by the hints of a function."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from holdfast.errors import InvalidInput
from holdfast.worker.context import Context
from holdfast.worker.resources import use
from holdfast.worker.signature import Signature, inspect_function
from holdfast.worker.sync_context import SyncContext


class Colour(StrEnum):
    """An enumeration."""

    RED = "red"


class Line(BaseModel):
    """A model with a factory."""

    sku: str
    count: int = 1
    token: uuid.UUID = Field(default_factory=uuid.uuid4)


class Order(BaseModel):
    """A model with an alias."""

    order_id: int = Field(alias="orderId")
    lines: list[Line] = []


@dataclass
class Point:
    """A dataclass."""

    x: int
    y: int = 0


class Opaque:
    """Something that is not JSON."""


def signature_of(function: Callable[..., Any]) -> Signature:
    return inspect_function(function, (Context, SyncContext))


def travel(function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Encode arguments and decode them, as from submitter to worker."""
    signature = signature_of(function)
    return signature.decode(signature.encode(args, kwargs))


def result_travel(function: Callable[..., Any], value: Any) -> Any:
    signature = signature_of(function)
    payload, content_type = signature.encode_result(value, "t")
    assert content_type is None
    return signature.decode_result(payload)


def pay(order: int, amount: float = 1.5, *, currency: str = "EUR") -> str:
    return f"{order} {amount} {currency}"


def test_arguments_travel_as_one_json_object_by_name() -> None:
    """Another language can submit the same without knowing Python."""
    encoded = signature_of(pay).encode((7,), {"currency": "CHF"})
    assert json.loads(encoded) == {"order": 7, "currency": "CHF"}


def test_arguments_given_in_order_and_by_name_arrive_by_name() -> None:
    """What the caller wrote is what the function gets."""
    assert travel(pay, 7, 2.5, currency="CHF") == {"order": 7, "amount": 2.5, "currency": "CHF"}


def test_defaults_are_left_to_the_function() -> None:
    """A default that changes before the run is the new one, so it does not travel."""
    assert travel(pay, 7) == {"order": 7}


def test_null_is_the_input_of_a_function_without_arguments() -> None:
    """An execution submitted by kind alone has the input null."""

    def nothing(x: int = 1) -> None: ...

    assert signature_of(nothing).decode(b"null") == {}
    assert travel(nothing) == {}


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, 2**60),
        (float, 0.1),
        (bool, True),
        (str, "ü\x00\u2028"),
        (list[int], [1, 2]),
        (dict[str, list[int]], {"a": [1]}),
        (tuple[int, str], (1, "a")),
        (set[int], {1, 2}),
        (int | None, None),
        (Colour, Colour.RED),
        (datetime, datetime(2026, 1, 2, 3, 4, 5, 6, UTC)),
        (Point, Point(1, 2)),
        (Line, Line(sku="a", count=2, token=uuid.UUID(int=5))),
        (Any, {"free": [1, None]}),
    ],
)
def test_values_of_many_types_arrive_as_they_were(hint: Any, value: Any) -> None:
    """Models, dataclasses, builtins: the worker gets an equal value of the same type."""

    def task(value: Any) -> Any: ...

    task.__annotations__.update(value=hint, **{"return": hint})
    arrived = travel(task, value)["value"]
    returned = result_travel(task, value)
    assert arrived == value == returned
    assert type(arrived) is type(value) is type(returned)


def test_a_model_keeps_what_its_factory_made() -> None:
    """A fresh value on the worker, another in every attempt, would not be what was submitted."""

    def task(line: Line) -> None: ...

    line = Line(sku="a")
    assert travel(task, line)["line"].token == line.token


def test_a_model_with_aliases_arrives() -> None:
    """Input and result use the names that the model reads."""

    def task(order: Order) -> Order:
        return order

    order = Order(orderId=5)
    assert travel(task, order)["order"] == order
    assert result_travel(task, order) == order


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_a_number_that_json_lacks_arrives_or_is_refused(value: float) -> None:
    """It must not become null on the way."""

    def task(value: float) -> float:
        return value

    signature = signature_of(task)
    try:
        encoded = signature.encode((value,), {})
    except InvalidInput as refused:
        assert refused.context["field"] == "input.value"  # noqa: PT017 - either is right
    else:
        assert signature.decode(encoded) == {"value": value}


def test_a_wrong_type_is_refused_at_both_ends_by_field() -> None:
    """The submitter is told, and so is whoever put something else into the store."""

    def task(lines: list[Line]) -> None: ...

    signature = signature_of(task)
    with pytest.raises(InvalidInput, match=r"input\.lines\.1\.count: .*integer") as at_submit:
        signature.encode(([{"sku": "a"}, {"sku": "b", "count": "many"}],), {})
    assert at_submit.value.context["field"] == "input.lines.1.count"
    with pytest.raises(InvalidInput, match=r"input\.lines\.0\.sku: Field required") as at_run:
        signature.decode(b'{"lines": [{}]}')
    assert at_run.value.context["field"] == "input.lines.0.sku"


def test_every_wrong_field_is_named() -> None:
    """One look is enough to mend an input."""
    with pytest.raises(InvalidInput, match=r"input\.order: .*; input\.amount: "):
        signature_of(pay).encode(("x", "y"), {})


@pytest.mark.parametrize(
    ("args", "kwargs", "problem"),
    [
        ((), {}, "order"),
        ((1, 2.0, "EUR"), {}, "too many positional arguments"),
        ((1,), {"nonsense": 1}, "nonsense"),
        ((1,), {"order": 1}, "multiple values for argument 'order'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    args: tuple[Any, ...], kwargs: dict[str, Any], problem: str
) -> None:
    """The message says which one."""
    with pytest.raises(InvalidInput, match=problem) as refused:
        signature_of(pay).encode(args, kwargs)
    assert refused.value.context["field"].startswith("input")


def test_an_unknown_field_is_refused_at_the_worker() -> None:
    """A misspelt optional field must not be dropped silently."""
    with pytest.raises(InvalidInput, match=r"input\.curency: Extra inputs"):
        signature_of(pay).decode(b'{"order": 1, "curency": "CHF"}')


#: JSON that no parser with a limit reads.
DEEP = b'{"order":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b"[1]", b"7", DEEP])
def test_an_input_that_is_no_json_object_is_refused(payload: bytes) -> None:
    """The whole input is the field at fault."""
    with pytest.raises(InvalidInput) as refused:
        signature_of(pay).decode(payload)
    assert refused.value.context["field"] == "input"


def test_the_validation_of_a_hint_holds() -> None:
    """Constraints are part of the hint."""

    def task(count: Annotated[int, Field(gt=0)]) -> None: ...

    with pytest.raises(InvalidInput, match=r"input\.count: .*greater than 0"):
        signature_of(task).encode((0,), {})


def test_parameters_may_have_the_names_of_model_methods() -> None:
    """The author does not know how arguments are checked."""

    def task(json: int, schema: str, copy: bool, dict: int) -> None: ...  # noqa: A002

    expected = {"json": 1, "schema": "s", "copy": True, "dict": 2}
    assert travel(task, **expected) == expected


def test_a_parameter_may_begin_with_an_underscore() -> None:
    """It is a name like any other."""

    def task(_unused: int) -> None: ...

    assert travel(task, 1) == {"_unused": 1}


@pytest.mark.parametrize(
    "function",
    [
        lambda *_args: None,
        lambda **_kwargs: None,
        lambda _x, /: None,
    ],
)
def test_a_parameter_without_a_fixed_name_is_refused(function: Callable[..., Any]) -> None:
    """The input is an object of named values."""
    with pytest.raises(InvalidInput, match="must be passable by name"):
        signature_of(function)


def test_a_parameter_that_cannot_be_json_is_refused_when_declared() -> None:
    """Not at the start of a worker, where it would stop every other task too."""

    def task(thing: Opaque) -> None: ...

    with pytest.raises(InvalidInput, match="thing"):
        signature_of(task)


def test_a_result_that_cannot_be_json_is_refused_when_declared() -> None:
    """The error is one of ours and names the task."""

    def make_it() -> Opaque:
        return Opaque()

    with pytest.raises(InvalidInput, match="make_it"):
        signature_of(make_it)


def test_the_context_and_resources_are_no_input() -> None:
    """The worker fills them in."""

    def database() -> str:
        return "db"

    def sync_task(ctx: SyncContext, order: int, db: str = use(database)) -> None: ...
    async def async_task(order: int, here: Context, db: str = use(database)) -> None: ...

    for function, context in ((sync_task, "ctx"), (async_task, "here")):
        signature = signature_of(function)
        assert signature.context == context
        assert [r.factory for r in signature.resources.values()] == [database]
        assert list(signature.resources) == ["db"]
        assert travel(function, 3) == {"order": 3}
        assert list(signature.schema()["input"]["properties"]) == ["order"]
        with pytest.raises(InvalidInput, match="db"):
            signature.decode(b'{"order": 1, "db": "x"}')


def test_a_function_without_hints_takes_anything_json() -> None:
    """Hints are welcome, not demanded."""

    def task(value, other=None):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        ...

    assert travel(task, [1], other={"a": 1}) == {"value": [1], "other": {"a": 1}}
    assert result_travel(task, {"a": [1]}) == {"a": [1]}
