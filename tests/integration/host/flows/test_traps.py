"""What went wrong in other flow engines, and must not here.

trap -> test (I = test_interpreter.py, R = test_running.py, M = unit test_model.py, others by name)

    T28 terminal emit sent twice      I test_a_flow_emits_waits_and_routes
    T29 resume keeps the old entry    I test_the_input_of_each_turn_is_its_message
    T30 an action matches twice       test_an_answer_answers_one_question
    T33 parked before it was sent     R test_a_crash_at_any_write_changes_nothing
    T34 types differ between loaders  M test_the_schema_has_every_kind_and_type
    T35 documented routes ignored     docs: test_an_example_runs
    T36 a plain end never ends        test_a_plain_end_after_conditions_ends
    T37 a sibling taken for a kind    M test_no_sibling_is_taken_for_a_kind
    T38 a failed callee succeeds      I test_a_sub_flow_waits_returns_and_fails
    T39 a bound is never reset        I test_a_turn_is_bounded_and_the_next_one_is_not
    T40 a retry repeats effects       R test_a_crash_at_any_write_changes_nothing
    T41 retry by words of a message   I test_only_retryable_failures_are_tried_again
    T43 env from somewhere else       test_env_and_tenant_are_those_of_the_session
    T45 typed text taken for a form   test_typed_text_is_no_form
    T46 more than was asked for       test_an_answer_has_declared_fields_only
    T47 dotted names are split        test_a_dotted_component_is_one_name
    T48 lists of kinds drift          M test_every_kind_has_a_dataclass, docs: test_an_example_runs
    T51 failure with an empty text    I test_an_unhandled_failure_ends_the_flow_with_an_apology,
                                      I test_an_empty_reply_is_a_failure
    T52 targets in two notations      test_a_target_is_a_flow_and_a_node
    O10 one key for all calls         I test_idempotency_keys_differ_between_runs_of_a_node
    O11 unbounded snapshots           test_what_a_waiting_flow_keeps_is_bounded,
                                      test_a_value_that_grows_in_a_loop_is_stopped
"""

from __future__ import annotations

import json

import pytest

from holdfast.host.flows.declaring import APOLOGY
from holdfast.host.flows.known import Known, operations
from holdfast.host.flows.lint import lint_files
from holdfast.model.sessions import SessionState
from tests.integration.host.flows.conftest import Talking


async def test_an_answer_answers_one_question(talking: Talking) -> None:
    """The answer of one question is not taken for that of the next."""
    flow = """
id: pages
type: messaging
nodes:
  one: {ask: {text: "One?", answer: {enum: [next]}}, out: two}
  two: {ask: {text: "Two?", answer: {enum: [next]}}, out: done}
  done: {emit: {text: Done.}}
"""
    async with talking(flow) as talk:
        await talk.say("next")
        await talk.expect("One?")
        await talk.say("next")
        await talk.expect("Two?")
        await talk.say("next")
        await talk.expect("Done.")


async def test_a_plain_end_after_conditions_ends(talking: Talking) -> None:
    """A last route to `end` ends the flow when no condition is true."""
    flow = """
id: ends
type: messaging
nodes:
  ask: {emit: {text: "?"}, out: [{when: "input.text == 'go'", to: go}, {to: end}]}
  go: {emit: {text: "!"}}
"""
    async with talking(flow) as talk:
        await talk.say("stop")
        await talk.expect("?")
        assert (await talk.session()).state is SessionState.IDLE


async def test_env_and_tenant_are_those_of_the_session(talking: Talking) -> None:
    """Whose flow it is comes from the session's key, whatever a message says."""
    flow = """
id: who
type: messaging
nodes:
  tell: {emit: {text: "{{ tenant }} {{ env }} {{ user.id }} {{ activity.user }}"}}
"""
    async with talking(flow) as talk:
        await talk.say(payload={"text": "hi", "tenant": "evil", "env": "evil", "user": "evil"})
        key = talk.key
        await talk.expect(f"{key.tenant} {key.env} ann ann")


async def test_typed_text_is_no_form(talking: Talking) -> None:
    """Text that looks like a form is text; only data is a form."""
    flow = """
id: form
type: messaging
nodes:
  ask:
    ask:
      text: "Name?"
      answer: {type: object, required: [name], properties: {name: {type: string}}}
      invalid: "Use the form."
    out: say
  say: {emit: {text: "{{ prev.name }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.say('{"name": "Ada"}')
        await talk.expect("Name?", "Use the form. Name?")
        await talk.say(payload={"data": {"name": "Ada"}})
        await talk.expect("Ada")


async def test_an_answer_has_declared_fields_only(talking: Talking) -> None:
    """A form with fields that the schema does not allow is no valid answer."""
    flow = """
id: strict
type: messaging
nodes:
  ask:
    ask:
      text: "Name?"
      answer: {type: object, properties: {name: {type: string}}, additionalProperties: false}
      retries: 0
    on_error: sorry
  sorry: {emit: {text: "{{ prev.error.code }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.say(payload={"data": {"name": "Ada", "secret": "x"}})
        await talk.expect("Name?", "invalid_answer")


def test_a_dotted_component_is_one_name() -> None:
    """A tool's operation is what follows the last point; a component's name may have points."""
    text = """
id: f
type: job
nodes:
  a: {llm: {model: m, max_tokens: 1, tools: [acme.orders.find]}, out: b}
  b: {call: {component: acme.orders, operation: find}}
"""
    known = Known(components=operations({"acme.orders": ["find"]}))
    _, problems = lint_files({"f.yaml": text}, known)
    assert problems == []


def test_a_target_is_a_flow_and_a_node() -> None:
    """A flow and a node are two fields: no text is taken apart into them."""
    text = "id: f\ntype: job\nnodes: {a: {goto: {flow: 'f/a'}}}"
    _, problems = lint_files({"f.yaml": text})
    assert [problem.code for problem in problems] == ["unknown_flow"]


async def test_what_a_waiting_flow_keeps_is_bounded(talking: Talking) -> None:
    """Variables that grow with every turn end the conversation before they fill the store."""
    flow = """
id: grow
type: messaging
vars: {all: {default: ""}}
nodes:
  more: {set: {all: "{{ vars.all + input.text }}"}, out: wait}
  wait: {wait: {}, out: more}
"""
    async with talking(flow, steps_kept=0) as talk:
        for _ in range(6):
            await talk.say("x" * 50_000)
        await talk.expect(APOLOGY)


@pytest.mark.parametrize(
    ("value", "code"),
    [("{{ vars.x + vars.x }}", "value_too_large"), (["{{ vars.y }}"], "value_too_deep")],
)
async def test_a_value_that_grows_in_a_loop_is_stopped(
    talking: Talking, value: object, code: str
) -> None:
    """Loops cannot make values that fill the memory or the stack of the host."""
    flow = f"""
id: grow
type: messaging
vars: {{x: {{default: xxxx}}, y: {{default: []}}, n: {{default: 0}}}}
nodes:
  more:
    set: {json.dumps({"x" if isinstance(value, str) else "y": value, "n": "{{ vars.n + 1 }}"})}
    on_error: stop
    out: [{{when: "vars.n > 190", to: end}}, {{to: more}}]
  stop: {{emit: {{text: "{{{{ prev.error.code }}}}"}}}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect(code)
