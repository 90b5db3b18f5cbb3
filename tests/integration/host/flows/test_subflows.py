"""Sub-flows that fail, take too long, or are tried again; and the state of tenants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast import App
from holdfast.errors import InvalidPack
from holdfast.host.components.states import PackStates
from holdfast.host.flows.declaring import declare_flow
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.runners import Invocation, NodeFailed, Runners
from holdfast.host.grants import Grant
from holdfast.host.tenant_state import TenantState
from holdfast.model.pack_states import StateScope
from holdfast.testing import conversation
from holdfast.testing.servers import TestServer
from tests.integration.host.flows.conftest import Orders, Talking

OUTER = """
id: outer
type: messaging
nodes:
  inner:
    flow: {flow: inner}
    timeout: 1h
    retry: {max_attempts: 2, initial_ms: 600000}
    on_error: late
    out: done
  done: {emit: {text: "Got {{ prev }}."}}
  late: {emit: {text: "{{ prev.error.code }} in {{ prev.node }}."}}
"""
ASKING = """
id: inner
type: messaging
internal: true
nodes:
  name:
    ask: {text: Name?, answer: {type: string, minLength: 2}, timeout: 40m, on_timeout: more}
    out: done
  more: {emit: {text: Hello?}, out: name}
  done: {end: {result: "{{ nodes.name }}"}}
"""
CALLING = """
id: inner
type: messaging
internal: true
nodes:
  find: {call: {component: orders, operation: find}, out: done}
  done: {end: {result: "{{ prev.status }}"}}
"""


async def test_a_sub_flow_is_tried_again_after_its_delay(talking: Talking, orders: Orders) -> None:
    """The delay is that of the node, or longer if the failure says so; then it is given up."""
    orders.failures = [NodeFailed("busy", "later", retryable=True)]
    async with talking(OUTER, CALLING) as talk:
        await talk.say("hi")
        await talk.advance(minutes=9)
        assert len(orders.calls) == 1
        await talk.advance(minutes=2)
        await talk.expect("Got sent.")
        orders.failures = [
            NodeFailed("busy", "later", retryable=True, retry_after_ms=1_200_000),
            NodeFailed("busy", "later", retryable=True),
        ]
        await talk.say("hi")
        await talk.advance(minutes=19)
        assert len(orders.calls) == 3
        await talk.advance(minutes=2)
        await talk.expect("busy in inner.")


async def test_attempts_are_counted_again_when_the_node_runs_again(
    talking: Talking, orders: Orders
) -> None:
    """A sub-flow that was given up has all of its attempts the next time."""
    loop = OUTER.replace('{{ prev.node }}."}}', '{{ prev.node }}."}, out: wait}')
    loop += "  wait: {wait: {}, out: inner}\n"
    failure = NodeFailed("busy", "later", retryable=True)
    async with talking(loop, CALLING) as talk:
        for _ in range(2):
            orders.failures = [failure, failure]
            await talk.say("hi")
            await talk.advance(minutes=11)
            await talk.expect("busy in inner.")
        orders.failures = [failure]
        await talk.say("hi")
        await talk.advance(minutes=11)
        await talk.expect("Got sent.")


async def test_a_sub_flow_that_takes_too_long_is_given_up(talking: Talking) -> None:
    """All waits of it together have the time; the waits' own timeouts count as before."""
    async with talking(OUTER, ASKING) as talk:
        await talk.say("hi")
        await talk.expect("Name?")
        await talk.advance(minutes=41)
        await talk.expect("Hello?", "Name?")
        # The hour is over, and the second attempt begins after ten minutes.
        await talk.advance(minutes=20)
        await talk.advance(minutes=11)
        await talk.expect("Name?")
        await talk.say("x")
        await talk.expect(...)
        await talk.advance(minutes=41)
        await talk.expect("Hello?", "Name?")
        await talk.advance(minutes=20)
        await talk.expect("timeout in inner.")


async def test_an_answer_in_time_ends_the_sub_flow(talking: Talking) -> None:
    """The timeout is gone with it."""
    async with talking(OUTER, ASKING) as talk:
        await talk.say("hi")
        await talk.advance(minutes=30)
        await talk.say("ann")
        await talk.expect("Name?", "Got ann.")
        await talk.advance(hours=2)
        await talk.say("hi")
        await talk.expect("Name?")


async def test_an_approval_in_a_sub_flow_has_its_time(talking: Talking) -> None:
    """A person who decides too late finds that the flow went on."""
    approving = """
id: inner
type: messaging
internal: true
nodes:
  gate: {approval: {title: "Pay?"}}
"""
    async with talking(OUTER.replace("max_attempts: 2", "max_attempts: 1"), approving) as talk:
        await talk.say("hi")
        await talk.advance(minutes=61)
        await talk.expect("timeout in inner.")


STATE = """
id: state
type: messaging
nodes:
  tell: {emit: {text: "{{ state.tenant.plan | default('free') }}"}, out: wait}
  wait: {wait: {}, out: tell}
"""


async def test_flows_read_the_state_of_their_tenant(single_server: TestServer) -> None:
    """What components of the pack wrote for this tenant; read once in each turn."""
    found, problems = lint_files({"state.yaml": STATE})
    assert problems == []
    reads: list[tuple[Invocation, Sequence[str]]] = []
    states: list[PackStates] = []
    grants = {"state": Grant(pack="shop")}

    async def read(about: Invocation, names: Sequence[str]) -> dict[str, Any]:
        reads.append((about, names))
        return await TenantState(states[0], grants)(about, names)

    app = App()
    kind = declare_flow(app, Flows(found, Runners(state=read)), "state")
    async with conversation(app, kind, server=single_server, user="ann", kept=0) as talk:
        states.append(PackStates(talk.test.engine.store))
        scope = StateScope(env=talk.key.env, tenant=talk.key.tenant, pack="shop")
        other = StateScope(env=talk.key.env, tenant=talk.key.tenant, pack="other")
        await states[0].set(other, "plan", "silver")
        await talk.say("hi")
        await talk.expect("free")
        await states[0].set(scope, "plan", "gold")
        await talk.say("again")
        await talk.expect("gold")
    assert [names for _, names in reads] == [["plan"], ["plan"]]
    assert reads[0][0].flow == "state"


def test_a_host_without_state_refuses_flows_that_use_it() -> None:
    """When they are loaded, with the place."""
    found, _ = lint_files({"state.yaml": STATE})
    with pytest.raises(InvalidPack, match=r"state.yaml:5") as error:
        Flows(found)
    assert error.value.context["problem"] == "not_supported"


async def test_a_flow_that_another_goes_to_must_end_in_the_same_time(talking: Talking) -> None:
    """It runs in the place of the first one, for the same node."""
    inner = """
id: inner
type: messaging
internal: true
nodes:
  go: {goto: {flow: further}}
"""
    further = """
id: further
type: messaging
internal: true
nodes:
  ask: {ask: {text: Name?, answer: {type: string}}}
"""
    outer = """
id: outer
type: messaging
nodes:
  inner: {flow: {flow: inner}, timeout: 1h, on_error: late}
  late: {emit: {text: "{{ prev.error.code }} in {{ prev.node }}."}}
"""
    async with talking(outer, inner, further) as talk:
        await talk.say("hi")
        await talk.expect("Name?")
        await talk.advance(hours=2)
        await talk.expect("timeout in inner.")
