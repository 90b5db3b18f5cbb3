"""What running flows guarantees: crashes change nothing, long conversations cost no more."""

from __future__ import annotations

import pytest

from holdfast import App
from holdfast.errors import InvalidInput, InvalidPack
from holdfast.host.flows.declaring import APOLOGY, declare_flow
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.runners import Runners
from holdfast.testing import Talk, conversation, crash_every_line
from holdfast.testing.servers import TestServer
from tests.integration.host.flows.conftest import Orders, made

SUPPORT = """
id: support
type: messaging
vars: {found: {default: 0}}
nodes:
  hello: {emit: {text: Hello.}, out: menu}
  menu:
    ask: {text: order or refund?, answer: {enum: [order, refund, bye]}}
    out:
      - {when: "prev == 'order'", to: find}
      - {when: "prev == 'refund'", to: refund}
      - {to: bye}
  find:
    call: {component: orders, operation: find, input: {id: "{{ vars.found }}"}}
    set: {found: "{{ vars.found + 1 }}"}
    out: show
  show: {emit: {text: "Order {{ nodes.find.id }} is {{ nodes.find.status }}."}, out: menu}
  refund: {flow: {flow: refund}, out: menu}
  bye: {emit: {text: "Bye after {{ vars.found }}."}}
"""
REFUND = """
id: refund
type: messaging
internal: true
nodes:
  why: {ask: {text: Why?, answer: {type: string}}, out: both}
  both:
    parallel:
      branches:
        a: {call: {component: orders, operation: find, input: {id: a}}}
        b: {call: {component: orders, operation: find, input: {id: b}}}
    out: gate
  gate:
    approval: {title: "Refund because {{ nodes.why }}?", timeout: 1h, on_timeout: late}
    out: [{when: prev.approved, to: paid}, {to: late}]
  paid: {emit: {text: "Refunded by {{ prev.by }}."}}
  late: {emit: {text: No refund.}}
"""


async def _script(talk: Talk) -> None:
    for number, text in enumerate(["hi", "what?", "order", "order", "refund", "it broke"]):
        await talk.say(text, key=f"m{number}")
    await talk.approve("gate", by="bob")
    await talk.say("bye", key="last")


@pytest.mark.parametrize("kept", [1_000, 0], ids=["kept", "replayed"])
@pytest.mark.parametrize("steps_kept", [0, 3, 24])
async def test_a_crash_at_any_write_changes_nothing(
    single_server: TestServer, orders: Orders, kept: int, steps_kept: int
) -> None:
    """A worker killed after any write leaves the same transcript, and repeats no step."""
    app = App()
    kind = declare_flow(app, made(orders, SUPPORT, REFUND, steps_kept=steps_kept), "support")
    lines = await crash_every_line(app, kind, _script, server=single_server, kept=kept)
    texts = [line.payload["text"] for line in lines if line.who == "bot"]
    assert texts == [
        "Hello.",
        "order or refund?",
        "Please answer with one of: order, refund, bye. order or refund?",
        "Order 0 is sent.",
        "order or refund?",
        "Order 1 is sent.",
        "order or refund?",
        "Why?",
        "Refunded by bob.",
        "order or refund?",
        "Bye after 2.",
    ]


async def test_a_long_conversation_keeps_a_short_journal(
    single_server: TestServer, orders: Orders
) -> None:
    """The journal of the hundredth turn is no longer than that of the tenth."""
    app = App()
    kind = declare_flow(app, made(orders, SUPPORT, REFUND), "support")
    async with conversation(app, kind, server=single_server, kept=0) as talk:
        await talk.say("hi")
        sizes = []
        for _ in range(100):
            await talk.say("order")
            session = await talk.session()
            assert session.execution is not None
            sizes.append(len(await talk.test.engine.steps(session.execution)))
        assert max(sizes[50:]) <= max(sizes[:50]) < 64


async def test_a_flow_that_lost_its_node_ends_with_an_apology(
    single_server: TestServer, orders: Orders
) -> None:
    """A conversation that waits at a node which is gone fails, and says so to the operator."""
    text = "id: f\ntype: messaging\nnodes: {a: {wait: {}, out: b}, b: {emit: {text: Hi}, out: a}}"
    app, other = App(), App()
    kind = declare_flow(app, made(orders, text, steps_kept=0), "f")
    changed = made(orders, text.replace("a: {wait", "c: {wait").replace("out: a", "out: c"))
    again = declare_flow(other, changed, "f")
    async with conversation(app, kind, server=single_server, kept=0) as talk:
        await talk.say("hi")
        await talk.say("hi")
        await talk.expect("Hi")
        app.tasks[kind.name] = again
        await talk.say("hi")
        await talk.expect(APOLOGY)


def test_a_kind_without_a_runner_is_refused_at_load() -> None:
    """A flow whose nodes cannot run is refused when it is loaded, with its place."""
    flows, _ = lint_files({"f.yaml": SUPPORT, "r.yaml": REFUND})
    with pytest.raises(InvalidPack, match="does not run `call` nodes") as caught:
        Flows(flows, Runners())
    assert caught.value.context["problem"] == "not_supported"
    assert caught.value.context["file"] == "f.yaml"


def test_flows_with_errors_are_refused_at_load() -> None:
    """Flows that lint reports errors in never run."""
    flows, _ = lint_files({"f.yaml": "id: f\ntype: job\nnodes: {a: {emit: {text: x}, out: b}}"})
    with pytest.raises(InvalidPack, match="there is no node `b`"):
        Flows(flows)


def test_state_of_tenants_is_refused_at_load() -> None:
    """A flow that reads state which this host does not have is refused."""
    text = "id: f\ntype: job\nnodes: {a: {emit: {text: '{{ state.tenant.plan }}'}}}"
    flows, _ = lint_files({"f.yaml": text})
    with pytest.raises(InvalidPack, match="no state of tenants"):
        Flows(flows)


def test_an_internal_flow_cannot_be_an_entry(orders: Orders) -> None:
    """Internal flows are reached from other flows only."""
    flows = made(orders, SUPPORT, REFUND)
    with pytest.raises(InvalidInput, match="no flow `refund` to start with"):
        declare_flow(App(), flows, "refund")
