"""Fakes answer calls in place of the world."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.host.flows.model import NodeKind
from holdfast.host.flows.runners import ComponentCall, HttpCall, Invocation, NodeFailed, Runners
from holdfast.host.simulator.fakes import Call, Fakes, contains, runners
from holdfast.host.simulator.script import Failure, Fake, Target


def _fake(returns: Any, given: Any = None, **options: Any) -> Fake:
    target = Target(kind=NodeKind.CALL, name="orders.find", given=given)
    return Fake(target=target, returns=returns, **options)


def _about(key: str = "k") -> Invocation:
    return Invocation(
        execution="e", tenant="t", env="e", flow="f", node="n", idempotency_key=key, timeout_ms=1
    )


def _call(given: Any = None, key: str = "k") -> ComponentCall:
    return ComponentCall(component="orders", operation="find", input=given, about=_about(key))


@pytest.mark.parametrize(
    ("value", "wanted", "does"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1], False),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        (1, True, False),
        (1, 1.0, True),
        ("a", {"a": 1}, False),
        (None, None, True),
    ],
)
def test_maps_may_have_more_than_is_wanted(value: Any, wanted: Any, does: bool) -> None:
    """Lists may not, and a truth value is no number."""
    assert contains(value, wanted) is does


async def test_the_first_fake_that_fits_answers() -> None:
    """One with `times` answers that often; those that are added come first."""
    fakes = Fakes([_fake(1, {"id": "A"}), _fake(2, times=1), _fake(3)])
    run = runners(fakes.ask).call
    assert run is not None
    assert await run(_call({"id": "A", "more": 1}, "a")) == 1
    assert [await run(_call({"id": "B"}, key)) for key in "bcd"] == [2, 3, 3]
    fakes.add([_fake(4, times=1), _fake(5, {"id": "A"})])
    assert [await run(_call({"id": "A"}, key)) for key in "efg"] == [4, 5, 5]
    assert fakes.count(Target(kind=NodeKind.CALL, name="orders.find", given={"id": "A"})) == 4


async def test_a_call_that_is_repeated_after_a_crash_gets_its_answer_again() -> None:
    """It has the same key, and counts once."""
    fakes = Fakes([_fake(1, times=1), _fake(2)])
    run = runners(fakes.ask).call
    assert run is not None
    assert [await run(_call(key=key)) for key in ("a", "a", "b")] == [1, 1, 2]
    assert len(fakes.calls) == 2


async def test_a_fake_can_fail() -> None:
    """With the code, the words and the permission to try again that it is given."""
    failure = Failure(code="gone", message="No.", retryable=True)
    run = runners(Fakes([_fake(None, fails=failure)]).ask).call
    assert run is not None
    with pytest.raises(NodeFailed, match=r"No\.") as raised:
        await run(_call())
    assert (raised.value.code, raised.value.retryable) == ("gone", True)


async def test_a_call_without_a_fake_goes_to_the_real_runner_or_fails() -> None:
    """And the test learns of it."""
    fakes = Fakes()

    async def real(call: ComponentCall) -> Any:
        return call.operation

    run = runners(fakes.ask, Runners(call=real)).call
    assert run is not None
    assert await run(_call()) == "find"
    run = runners(fakes.ask).call
    assert run is not None
    with pytest.raises(NodeFailed, match=r"no fake answers call orders\.find with"):
        await run(_call({"id": "A"}, "other"))
    assert [call.key for call in fakes.unknown] == ["k", "other"]


async def test_models_and_web_servers_need_only_a_part_of_their_answer() -> None:
    """The rest has defaults."""
    fakes = Fakes(
        [
            Fake(target=Target(kind=NodeKind.LLM, name="small"), returns="Hi."),
            Fake(target=Target(kind=NodeKind.HTTP, name="GET https://a"), returns={"body": 1}),
        ]
    )
    answer = await fakes.ask(Call(kind=NodeKind.LLM, name="small", input={}, key="a", execution=""))
    assert answer is not None
    usage = {"input_tokens": 0, "output_tokens": 0}
    assert answer.taken() == {"text": "Hi.", "usage": usage, "calls": []}
    call = HttpCall(
        method="GET", url="https://a", headers={}, json=None, has_body=False, about=_about()
    )
    run = runners(fakes.ask).http
    assert run is not None
    assert await run(call) == {"status": 200, "headers": {}, "body": 1}
