"""Waits that go on after their conversation came from another revision."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest

from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.progress import FlowState, Frame, Pending
from holdfast.host.flows.stages import Place, Talking
from holdfast.model.moments import to_ms
from holdfast.worker.outcomes import WaitTimedOut

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OUTER = """
id: outer
type: messaging
nodes:
  run: {flow: {flow: inner}, timeout: 60s, on_error: expired}
  expired: {emit: {text: "the flow expired"}}
"""
INNER = """
id: inner
type: messaging
internal: true
nodes:
  ask: {ask: {text: "Name?", answer: {type: string}, timeout: 40s, on_timeout: late}}
  late: {emit: {text: "the question timed out"}}
"""


class Silent:
    """A conversation whose user says nothing any more."""

    place = Place(
        execution="s~1", tenant="acme", env="default", endpoint="e", conversation="c", user="u"
    )

    def __init__(self) -> None:
        self.said: list[str] = []
        self.waited_ms: list[int | None] = []

    async def now(self, step: str) -> datetime:
        """Return the same time again and again."""
        del step
        return NOW

    async def say(self, activity: Mapping[str, Any]) -> None:
        """Remember it."""
        self.said.append(activity["text"])

    async def receive(self, timeout_ms: int | None) -> Any:
        """Time out."""
        self.waited_ms.append(timeout_ms)
        raise WaitTimedOut


@pytest.mark.parametrize(
    ("wait_s", "flow_s", "said"),
    [
        (15, 35, "the question timed out"),
        (35, 35, "the flow expired"),
        (None, 50, "the question timed out"),
        (None, 35, "the flow expired"),
    ],
)
async def test_what_ends_first_is_what_has_timed_out(
    wait_s: int | None, flow_s: int, said: str
) -> None:
    """A wait that has gone on for 25 s elsewhere is over before the flow that it is in."""
    stage = Silent()
    frames = [
        Frame(flow="outer", node="run"),
        Frame(flow="inner", node="ask", until_ms=to_ms(NOW) + flow_s * 1_000),
    ]
    pending = Pending(question="Name?", wait_ms=None if wait_s is None else wait_s * 1_000)
    state = msgspec.to_builtins(FlowState(frames, {}, pending=pending))
    flows = Flows.load({"outer.yaml": OUTER, "inner.yaml": INNER})
    await flows.talk(cast("Talking", stage), "outer", state)
    assert stage.said == [said]
    assert stage.waited_ms == [min(wait_s or 40, flow_s) * 1_000]
