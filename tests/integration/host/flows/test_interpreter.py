"""Flows as conversations: every kind of node that needs no more than a component."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast.errors import SignalNotAllowed
from holdfast.host.flows.declaring import APOLOGY
from holdfast.host.flows.runners import NodeFailed, Runners
from holdfast.host.web import requests
from holdfast.model.sessions import SessionState
from tests.integration.host.flows.conftest import Orders, Talking


async def test_a_flow_emits_waits_and_routes(talking: Talking) -> None:
    """Routes are tried in order, with the message as input."""
    flow = """
id: menu
type: messaging
nodes:
  hello:
    emit: {text: "Hello {{ user.name | default('there') }}."}
    out: choice
  choice:
    wait: {}
    out:
      - {when: "input.text == 'order'", to: order}
      - {when: "input.text.contains('bye')", to: bye}
      - {to: hello}
  order: {emit: [{text: "Order of {{ activity.user }}."}, {text: Next?}], out: choice}
  bye: {emit: {text: Bye.}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect("Hello there.")
        await talk.say("what?")
        await talk.expect("Hello there.")
        await talk.say("order")
        await talk.expect("Order of ann.", "Next?")
        await talk.say("good bye")
        await talk.expect("Bye.")
        assert (await talk.session()).state is SessionState.IDLE


async def test_the_input_of_each_turn_is_its_message(talking: Talking) -> None:
    """A resumed flow sees the new message, not the one that started it."""
    flow = """
id: echo
type: messaging
nodes:
  wait: {wait: {}, out: say}
  say: {emit: {text: "{{ input.text }} {{ prev.text }} {{ nodes.wait.text }}"}, out: wait}
"""
    async with talking(flow) as talk:
        await talk.say("one")
        await talk.say("two")
        await talk.say("three")
        await talk.expect("two two two", "three three three")


async def test_a_wait_times_out(talking: Talking) -> None:
    """Without a message the flow continues at `on_timeout`."""
    flow = """
id: late
type: messaging
nodes:
  wait: {wait: {timeout: 2d, on_timeout: late}, out: end}
  late: {emit: {text: "Still there? {{ activity.kind }}"}, out: again}
  again: {wait: {timeout: 1h}, on_error: gone}
  gone: {emit: {text: "{{ prev.error.code }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.advance(days=3)
        await talk.expect("Still there? timeout")
        await talk.advance(hours=2)
        await talk.expect("timeout")


async def test_ask_validates_and_asks_again(talking: Talking) -> None:
    """An invalid answer is asked for again; the valid one is the output, typed."""
    flow = """
id: age
type: messaging
nodes:
  ask:
    ask: {text: How old?, answer: {type: integer, minimum: 1}, retries: 1}
    set: {age: "{{ prev + 1 }}"}
    on_error: sorry
    out: say
  say: {emit: {text: "{{ nodes.ask }} {{ vars.age }}"}, out: ask}
  sorry: {emit: {text: "{{ prev.error.code }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect("How old?")
        await talk.say("old")
        await talk.expect("Please answer with a whole number. How old?")
        await talk.say("41")
        await talk.expect("41 42", "How old?")
        await talk.say("0")
        await talk.say("-1")
        await talk.expect("Please answer with a whole number. How old?", "invalid_answer")


async def test_a_question_for_an_object_carries_a_form(talking: Talking) -> None:
    """Its schema, so that a channel can show fields; the values answer it."""
    flow = """
id: where
type: messaging
nodes:
  ask:
    ask:
      text: Where?
      answer: {type: object, properties: {city: {type: string}}, required: [city]}
    out: say
  say: {emit: {text: "{{ nodes.ask.city }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect("Where?")
        entry = (await talk.entries())[-1]
        assert entry.value["form"]["required"] == ["city"]
        await talk.say(payload={"data": {"city": "Rome"}})
        await talk.expect("Rome")


async def test_a_call_is_a_step_whose_output_is_kept(talking: Talking, orders: Orders) -> None:
    """A component is called once, and later turns still see its output."""
    flow = """
id: lookup
type: messaging
nodes:
  find:
    call: {component: orders, operation: find, input: {id: "{{ input.text }}"}}
    out: say
  say: {emit: {text: "{{ nodes.find.id }} is {{ nodes.find.status }}."}, out: wait}
  wait: {wait: {}, out: again}
  again: {emit: {text: "Still {{ nodes.find.status }}."}}
"""
    async with talking(flow) as talk:
        await talk.say("A1")
        await talk.expect("A1 is sent.")
        await talk.say("and now?")
        await talk.expect("Still sent.")
    assert orders.operations == ["find"]


async def test_only_retryable_failures_are_tried_again(talking: Talking, orders: Orders) -> None:
    """A failure is tried again if it says so, not by the words of its message."""
    flow = """
id: retry
type: messaging
nodes:
  find:
    call: {component: orders, operation: find, input: {id: x}}
    retry: {max_attempts: 3, initial_ms: 5000}
    on_error: sorry
    out: say
  say: {emit: {text: "{{ prev.status }}"}, out: wait}
  sorry: {emit: {text: "{{ prev.error.code }} of {{ prev.node }}"}, out: wait}
  wait: {wait: {}, out: find}
"""
    busy = NodeFailed("busy", "try later", retryable=True)
    async with talking(flow) as talk:
        orders.failures = [busy, busy]
        await talk.say("hi")
        await talk.advance(seconds=6)
        await talk.advance(seconds=11)
        await talk.expect("sent")
        assert len(orders.calls) == 3
        orders.failures = [NodeFailed("denied", "internal: transient, unavailable")]
        await talk.say("again")
        await talk.expect("denied of find")
        assert len(orders.calls) == 4


async def test_idempotency_keys_differ_between_runs_of_a_node(
    talking: Talking, orders: Orders
) -> None:
    """Each run of a node has a key of its own, whatever the conversation continued with."""
    flow = """
id: keys
type: messaging
nodes:
  find: {call: {component: orders, operation: find}, out: wait}
  wait: {wait: {}, out: find}
"""
    async with talking(flow) as talk:
        for text in ("one", "two", "three"):
            await talk.say(text)
    keys = [call.about.idempotency_key for call in orders.calls]
    assert len(set(keys)) == 3
    assert {call.about.node for call in orders.calls} == {"find"}


async def test_a_timeout_ends_a_call(talking: Talking, orders: Orders) -> None:
    """A call that takes too long fails with `timeout`."""

    async def hang(_: Any) -> None:
        await asyncio.Event().wait()

    orders.answers["find"] = hang
    flow = """
id: slow
type: messaging
nodes:
  find: {call: {component: orders, operation: find}, timeout: 10ms, on_error: late}
  late: {emit: {text: "{{ prev.error.code }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect("timeout")


async def test_nodes_are_skipped_and_variables_set(talking: Talking) -> None:
    """`when` skips a node; `set` keeps values over turns."""
    flow = """
id: count
type: messaging
vars: {n: {default: 0}}
nodes:
  count: {set: {n: "{{ vars.n + 1 }}"}, out: odd}
  odd: {emit: {text: "{{ vars.n }} is odd."}, when: "vars.n % 2 == 1", out: wait}
  wait: {wait: {}, out: count}
"""
    async with talking(flow) as talk:
        for _ in range(3):
            await talk.say("go")
        await talk.expect("1 is odd.", "3 is odd.")


INNER = """
id: talk
type: messaging
internal: true
nodes:
  name: {ask: {text: "Name of {{ input.what }}?", answer: {type: string}}, out: done}
  done:
    end: {result: {name: "{{ nodes.name }}"}}
    when: "nodes.name != 'fail'"
    out: fail
  fail: {call: {component: orders, operation: fail}}
"""
OUTER = """
id: outer
type: messaging
nodes:
  first: {flow: {flow: talk, input: {what: cat}}, on_error: sorry, out: say}
  say: {emit: {text: "{{ prev.name }} after {{ input.text }}"}, out: first}
  sorry: {emit: {text: "failed: {{ prev.error.code }}"}, out: leave}
  leave: {goto: {flow: bye, node: second}}
"""
BYE = """
id: bye
type: messaging
internal: true
nodes:
  first: {emit: {text: never}, out: second}
  second: {emit: {text: Bye.}}
"""


async def test_a_sub_flow_waits_returns_and_fails(talking: Talking, orders: Orders) -> None:
    """A sub-flow may wait; its result is the output, and its failure that of the node."""

    async def fail(_: Any) -> None:
        raise NodeFailed("broken", "it is broken")

    orders.answers["fail"] = fail
    async with talking(OUTER, INNER, BYE) as talk:
        await talk.say("hi")
        await talk.expect("Name of cat?")
        await talk.say("Tom")
        await talk.expect("Tom after Tom", "Name of cat?")
        await talk.say("fail")
        await talk.expect("failed: broken", "Bye.")
        assert (await talk.session()).state is SessionState.IDLE


async def test_an_unhandled_failure_ends_the_flow_with_an_apology(
    talking: Talking, orders: Orders
) -> None:
    """Users read an apology, never the error; the next message starts again."""
    flow = """
id: broken
type: messaging
nodes:
  find: {call: {component: orders, operation: find}, out: say}
  say: {emit: {text: fine}}
"""
    async with talking(flow) as talk:
        orders.failures = [NodeFailed("broken", "the password is hunter2")]
        await talk.say("hi")
        await talk.expect(APOLOGY)
        await talk.say("hi")
        await talk.expect("fine")


async def test_what_a_runner_raises_never_reaches_users_or_logs(
    talking: Talking, orders: Orders, caplog: pytest.LogCaptureFixture
) -> None:
    """An error that a runner did not mean to raise is `internal`, without its message."""

    async def leak(_: Any) -> None:
        raise ValueError(f"hunter{1 + 1}")

    orders.answers["find"] = leak
    flow = """
id: leak
type: messaging
nodes:
  find: {call: {component: orders, operation: find}, on_error: sorry}
  sorry: {emit: {text: "{{ prev.error.code }}: {{ prev.error.message }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect("internal: the node failed (ValueError)")
    assert "hunter2" not in caplog.text
    assert "node find of flow leak: ValueError" in caplog.text


async def test_a_turn_is_bounded_and_the_next_one_is_not(talking: Talking) -> None:
    """Bounds count one turn: a long conversation does not use them up."""
    flow = """
id: bound
type: messaging
limits: {nodes_per_turn: 4}
nodes:
  wait: {wait: {}, out: [{when: "input.text == 'loop'", to: spin}, {to: jump}]}
  jump: {goto: {flow: bound}}
  spin:
    set: {n: "{{ size(input.text) }}"}
    out: [{when: "vars.n > 9", to: end}, {to: spin}]
"""
    async with talking(flow) as talk:
        for _ in range(8):
            await talk.say("again")
        assert (await talk.session()).state is SessionState.WAITING
        await talk.say("loop")
        await talk.expect(APOLOGY)


async def test_an_approval_returns_the_decision(talking: Talking) -> None:
    """The output of an approval says whether it was approved, by whom, and with what."""
    flow = """
id: refund
type: messaging
nodes:
  ask:
    approval: {title: "Refund {{ input.text }}?", timeout: 1d, on_timeout: late}
    out:
      - {when: prev.approved, to: paid}
      - {to: denied}
  paid: {emit: {text: "Refunded by {{ nodes.ask.by }}."}, out: wait}
  denied: {emit: {text: "Denied: {{ nodes.ask.data.why }}"}, out: wait}
  late: {emit: {text: Nobody decided.}, out: wait}
  wait: {wait: {}, out: ask}
"""
    async with talking(flow) as talk:
        await talk.say("A1")
        await talk.expect()
        await talk.approve("ask", by="bob")
        await talk.expect("Refunded by bob.")
        await talk.say("A2")
        await talk.deny("ask", by="bob", payload={"why": "too late"})
        await talk.expect("Denied: too late")
        await talk.say("A3")
        await talk.advance(days=2)
        await talk.expect("Nobody decided.")


async def test_the_people_of_an_approval_are_different_people(talking: Talking) -> None:
    """One counts once, nobody answers for another, and an operator approves nothing."""
    flow = """
id: pay
type: messaging
nodes:
  gate:
    approval: {title: "Pay?", approvers: [ann, "{{ input.text }}"], need: 2}
    out:
      - {when: prev.approved, to: paid}
      - {to: unpaid}
  paid: {emit: {text: "Paid by {{ nodes.gate.by }} and {{ nodes.gate.also[0] }}."}, out: again}
  unpaid: {emit: {text: "Not paid: {{ nodes.gate.by }}"}, out: end}
  again: {wait: {}, out: gate}
"""
    async with talking(flow) as talk:
        await talk.say("ben")
        await talk.approve("gate", by="ann")
        await talk.approve("gate", by="ann")
        with pytest.raises(SignalNotAllowed):
            await talk.approve("gate", by="cid")
        await talk.expect()
        await talk.approve("gate", by="ben")
        await talk.expect("Paid by ann and ben.")
        await talk.say("ben")
        await talk.approve("gate", by="ann")
        execution = (await talk.session()).execution
        assert execution is not None
        await talk.test.engine.waitpoints.resume(execution, identity="ops")
        await talk.run()
        await talk.expect("Not paid: ops")


async def test_the_links_of_an_approval_go_only_where_the_pack_may_call(talking: Talking) -> None:
    """The address of a webhook is known when the node runs."""
    flow = """
id: pay
type: messaging
nodes:
  gate:
    approval: {title: "Pay?", approvers: [ann], on_open: "{{ input.text }}"}
    out: done
    on_error: refused
  done: {emit: {text: Done.}, out: end}
  refused: {emit: {text: "{{ prev.error.code }}"}, out: end}
"""

    def reach(flow: str, url: str) -> None:
        requests.target(url, {"pay": ("bot.example",)}[flow])

    async with talking(flow, runners=Runners(reach=reach)) as talk:
        await talk.say("https://evil.example/asked")
        await talk.expect("http_denied")
        await talk.say("https://bot.example/asked")
        (point,) = await talk.test.engine.waitpoints.of((await talk.session()).execution or "")
        assert point.on_open == "https://bot.example/asked"
        await talk.approve("gate", by="ann")
        await talk.expect("Done.")


async def test_each_and_parallel_run_calls_and_flows(talking: Talking, orders: Orders) -> None:
    """Items and branches run at the same time; outputs keep their order."""
    flow = """
id: many
type: messaging
nodes:
  each:
    each:
      items: "{{ split(input.text, ' ') }}"
      as: order
      do: {call: {component: orders, operation: find, input: {id: "{{ order }}"}}}
      limit: 3
      concurrency: 2
    on_error: sorry
    out: both
  both:
    parallel:
      branches:
        one: {call: {component: orders, operation: find, input: {id: one}}}
        two: {flow: {flow: part, input: {id: two}}}
    out: first
  first:
    parallel:
      branches:
        bad: {call: {component: orders, operation: bad}}
        good: {call: {component: orders, operation: find, input: {id: good}}}
      join: any
    out: say
  say:
    emit:
      text: >-
        {{ nodes.each.map(one, one.id).join(',') }} {{ nodes.both.one.id }} {{ nodes.both.two.id }}
        {{ nodes.first.good.id }}
  sorry: {emit: {text: "{{ prev.error.code }}"}}
"""
    part = """
id: part
type: job
nodes:
  find: {call: {component: orders, operation: find, input: {id: "{{ input.id }}"}}, out: tell}
  tell: {emit: {text: "Found {{ prev.id }}."}, out: done}
  done: {end: {result: {id: "{{ nodes.find.id }}"}}}
"""

    async def bad(_: Any) -> None:
        raise NodeFailed("bad", "no")

    orders.answers["bad"] = bad
    async with talking(flow, part) as talk:
        await talk.say("a b c")
        await talk.expect("Found two.", "a,b,c one two good")
        await talk.say("a b c d")
        await talk.expect("too_many_items")


async def test_the_time_is_the_same_in_every_attempt(talking: Talking) -> None:
    """`now` is recorded where it is used, and goes on between turns."""
    flow = """
id: clock
type: messaging
nodes:
  start: {set: {at: "{{ now }}"}, out: wait}
  wait: {wait: {}, out: [{when: "now - timestamp(vars.at) > duration('1d')", to: late}, {to: soon}]}
  late: {emit: {text: late}, out: wait}
  soon: {emit: {text: soon}, out: wait}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.say("hi")
        await talk.expect("soon")
        await talk.advance(days=2)
        await talk.say("hi")
        await talk.expect("late")


async def test_buttons_cards_and_data_are_passed_on(talking: Talking) -> None:
    """Parts of an activity reach the channel; unknown ones travel in the data."""
    flow = """
id: parts
type: messaging
nodes:
  show:
    emit:
      text: "{{ size(input.text) }}"
      card: {title: "{{ input.text }}"}
      buttons: ["Yes", {label: "No!", value: "no"}]
      locale: en
    out: wait
  wait: {wait: {}, out: end}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        lines = await talk.transcript()
    reply = next(line.payload for line in lines if line.who == "bot")
    assert reply == {
        "text": "2",
        "card": {"title": "hi"},
        "buttons": [{"label": "Yes", "value": "Yes"}, {"label": "No!", "value": "no"}],
        "data": {"locale": "en"},
    }


async def test_state_of_the_session_can_be_missing(talking: Talking) -> None:
    """A value of the session that was never set is a missing path."""
    flow = """
id: state
type: messaging
nodes:
  tell: {emit: {text: "{{ state.session.plan | default('free') }}"}, out: fail}
  fail: {emit: {text: "{{ state.session.plan }}"}, on_error: sorry}
  sorry: {emit: {text: "{{ prev.error.code }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect("free", "missing_path")


async def test_an_empty_reply_is_a_failure(talking: Talking) -> None:
    """No channel accepts an empty text, so a node that emits one fails."""
    flow = """
id: empty
type: messaging
nodes:
  say: {emit: {text: "{{ input.nothing }}"}, on_error: sorry}
  sorry: {emit: {text: sorry}}
"""
    async with talking(flow) as talk:
        await talk.say(payload={"nothing": "", "text": "hi"})
        await talk.expect("sorry")


async def test_a_quorum_knows_its_branches_by_name(talking: Talking, orders: Orders) -> None:
    """Branches with equal outputs are not mixed up, and failures are counted."""
    text = """
id: quorum
type: messaging
nodes:
  two:
    parallel:
      branches:
        a: {call: {component: orders, operation: yes}}
        b: {call: {component: orders, operation: no}}
        c: {call: {component: orders, operation: yes}}
      join: quorum
      k: 2
    out: tell
  tell: {emit: {text: "{{ prev.a }} {{ prev.c }} {{ size(prev) }}"}}
"""

    async def yes(_: Any) -> Any:
        return True

    async def no(_: Any) -> Any:
        raise NodeFailed("no", "no")

    orders.answers = {"yes": yes, "no": no}
    async with talking(text) as talk:
        await talk.say("hi")
        await talk.expect("true true 2")
