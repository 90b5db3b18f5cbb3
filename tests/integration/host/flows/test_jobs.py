"""Flows without a conversation, as tasks."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast import App
from holdfast.errors import ExecutionFailed, InvalidInput
from holdfast.host.flows.declaring import declare_job
from holdfast.host.flows.runners import NodeFailed
from holdfast.testing import TestApp
from holdfast.testing.servers import TestServer
from tests.integration.host.flows.conftest import Orders, made

JOB = """
id: nightly
type: job
input: {type: object, properties: {orders: {type: array}}, required: [orders]}
nodes:
  all:
    each:
      items: "{{ input.orders }}"
      do: {flow: {flow: one, input: {id: "{{ item }}"}}}
    retry: {max_attempts: 2, initial_ms: 3600000}
    out: tell
  tell: {emit: {text: "{{ size(prev) }} orders on {{ string(now).split('T')[0] }}"}, out: done}
  done: {end: {result: "{{ nodes.all.map(one, one.status) }}"}}
"""
ONE = """
id: one
type: job
internal: true
nodes:
  find: {call: {component: orders, operation: find, input: {id: "{{ input.id }}"}}, out: done}
  done: {end: {result: "{{ prev }}"}}
"""


async def test_a_job_returns_its_result_and_replies(
    single_server: TestServer, orders: Orders
) -> None:
    """A job gets its input, runs branches as steps, and returns what it emitted."""
    app = App()
    job = declare_job(app, made(orders, JOB, ONE), "nightly")
    async with TestApp(app, server=single_server) as test:
        found = await test.run(job, {"orders": ["a", "b"]})
        day = test.clock.now.date().isoformat()
    assert found == {"result": ["sent", "sent"], "replies": [{"text": f"2 orders on {day}"}]}
    keys = {call.about.idempotency_key for call in orders.calls}
    assert len(keys) == 2


async def test_a_job_sleeps_between_attempts(single_server: TestServer, orders: Orders) -> None:
    """A branch that failed may have had its effect, so its next attempt has the same key."""
    app = App()
    job = declare_job(app, made(orders, JOB, ONE), "nightly")
    orders.failures = [NodeFailed("busy", "later", retryable=True)]
    async with TestApp(app, server=single_server) as test:
        start = test.clock.now
        found = await test.run(job, {"orders": ["a"]})
        assert test.clock.now - start >= timedelta(minutes=59)
    assert found["result"] == ["sent"]
    assert len(orders.calls) == 2
    assert len({call.about.idempotency_key for call in orders.calls}) == 1


async def test_an_unhandled_failure_fails_the_job(
    single_server: TestServer, orders: Orders
) -> None:
    """A job whose node fails ends as failed, and is not run again."""
    app = App()
    job = declare_job(app, made(orders, JOB, ONE), "nightly")
    orders.failures = [NodeFailed("gone", "no such order")]
    async with TestApp(app, server=single_server) as test:
        with pytest.raises(ExecutionFailed):
            await test.run(job, {"orders": ["a"]})
    assert len(orders.calls) == 1


@pytest.mark.parametrize("signal", ["approve", "deny"])
async def test_a_job_waits_for_an_approval(
    single_server: TestServer, orders: Orders, signal: str
) -> None:
    """An approval of a job is a waitpoint, whose payload has a schema."""
    flow = """
id: gated
type: job
nodes:
  gate:
    approval: {title: Go?, schema: {type: object, properties: {note: {type: string}}}}
    out: done
  done: {end: {result: "{{ [prev.approved, prev.by, prev.data.note] }}"}}
"""
    app = App()
    job = declare_job(app, made(orders, flow), "gated")
    async with TestApp(app, server=single_server) as test:
        test.answer("gate", signal, {"note": "fine"}, source="bob")
        found = await test.run(job)
    assert found["result"] == [signal == "approve", "bob", "fine"]


async def test_a_conversation_is_no_job(orders: Orders) -> None:
    """A messaging flow cannot be declared as a task."""
    flow = "id: chat\ntype: messaging\nnodes: {a: {wait: {}}}"
    with pytest.raises(InvalidInput, match="is a conversation"):
        declare_job(App(), made(orders, flow), "chat")
