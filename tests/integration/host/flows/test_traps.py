"""What went wrong in other flow engines (rows T and O of their reference), and must not here.

FILES has the letters.

T15     an overlay shadows        P test_ids_of_a_main_pack_and_its_overlays_are_distinct
                                  V test_two_providers_of_a_type_are_ambiguous
T16     an operation nobody gave  L test_flows_know_what_the_pack_declares
                                  C test_lint_reports_the_one_defect
                                  V test_other_operations_are_refused
T17     welcomed again            D test_a_new_user_is_welcomed_once
                                  W test_when_it_is_done_nobody_welcomes
T18     users share a marker      W test_every_part_but_the_conversation_makes_another_visitor
T28     the last reply twice      I test_a_flow_emits_waits_and_routes
T29     resumed with old input    I test_the_input_of_each_turn_is_its_message
T30     an action matches twice   T test_an_answer_answers_one_question
T33     parked before it was sent R test_a_crash_at_any_write_changes_nothing
T34     types differ by loader    M test_the_schema_has_every_kind_and_type
                                  T test_pack_and_flow_agree_on_the_type
T35     documented, but ignored   X test_an_example_runs
T36     a plain end never ends    T test_a_plain_end_after_conditions_ends
T37     a sibling taken for kind  M test_no_sibling_is_taken_for_a_kind
T38     a failed callee succeeds  I test_a_sub_flow_waits_returns_and_fails
T39     a bound is never reset    I test_a_turn_is_bounded_and_the_next_one_is_not
T40     a retry repeats effects   R test_a_crash_at_any_write_changes_nothing
                                  K test_a_worker_killed_at_any_node_changes_nothing_that_is_said
T41     retry by words            I test_only_retryable_failures_are_tried_again
T43     env from somewhere else   T test_env_and_tenant_are_those_of_the_session
T45     typed text as a form      T test_typed_text_is_no_form
T46     more than was asked for   T test_an_answer_has_declared_fields_only
T47     dotted names are split    T test_a_dotted_component_is_one_name
T48     lists of kinds drift      M test_every_kind_has_a_dataclass
                                  M test_the_samples_have_every_kind
T51     a failure says nothing    I test_an_unhandled_failure_ends_the_flow_with_an_apology
                                  I test_an_empty_reply_is_a_failure
T52     targets in two notations  T test_a_target_is_a_flow_and_a_node
                                  D test_names_of_two_packs_are_never_the_same
                                  E test_a_message_starts_what_it_names
T53     caches outlive a revision D test_two_revisions_of_a_pack_share_nothing
T54     a call ignores its time   I test_a_timeout_ends_a_call
O8      silent on missing paths   F test_a_missing_path_is_an_error
                                  C test_lint_reports_the_one_defect
O9      retry and when do nothing I test_only_retryable_failures_are_tried_again
                                  I test_a_timeout_ends_a_call
                                  I test_nodes_are_skipped_and_variables_set
                                  I test_each_and_parallel_run_calls_and_flows
                                  I test_a_sub_flow_waits_returns_and_fails
O10     one key for all calls     I test_idempotency_keys_differ_between_runs_of_a_node
                                  J test_a_job_sleeps_between_attempts
O11     unbounded snapshots       T test_what_a_waiting_flow_keeps_is_bounded
                                  T test_a_value_that_grows_in_a_loop_is_stopped
O12     secrets by flow text      L test_flows_know_what_the_pack_declares
                                  D test_overlays_add_flows_that_use_what_is_theirs
                                  H test_a_secret_that_is_not_the_tenants_is_a_failure
O16     signed, but not checked   P test_an_unsigned_pack_needs_permission_and_is_visible
                                  P test_a_signature_of_another_pack_is_wrong
O17     no simulator              S test_every_kind_of_step_passes_where_it_should
                                  S test_the_tests_of_an_example_pass_and_cover_every_node

The tests of the host that concern packs and flows, by what they say, and ours:

seed    nothing without an endpoint or a user           N test_a_part_that_is_no_name_is_refused
seed    the welcome flow replaces pack, flow and type   D test_a_new_user_is_welcomed_once
seed    not when a conversation waits
            D test_a_message_resumes_what_waits_whatever_flow_it_names
seed    not on the second turn, not after the end       D test_a_new_user_is_welcomed_once
seed    markers of endpoints and users are apart
            D test_welcomes_are_those_of_an_endpoint_and_a_user
seed    no marker for a turn that did not run           D test_a_welcome_that_failed_comes_again
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.host.flows.declaring import APOLOGY
from holdfast.host.flows.known import Known, operations
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.model import FlowType
from holdfast.model.sessions import SessionState
from tests.integration.host.flows.conftest import Talking
from tests.support.packs import pack_of

TESTS = Path(__file__).parents[3]
FILES = {
    "C": "unit/host/flows/test_corpus.py",
    "D": "integration/host/test_loading.py",
    "E": "unit/host/test_entries.py",
    "F": "unit/host/flows/test_expressions.py",
    "H": "unit/host/web/test_nodes.py",
    "I": "integration/host/flows/test_interpreter.py",
    "J": "integration/host/flows/test_jobs.py",
    "K": "acceptance/test_pack_hosts.py",
    "L": "unit/host/test_linting.py",
    "M": "unit/host/flows/test_model.py",
    "N": "unit/model/test_session_keys.py",
    "P": "unit/host/packs/test_packs.py",
    "R": "integration/host/flows/test_running.py",
    "S": "integration/host/simulator/test_simulator.py",
    "T": "integration/host/flows/test_traps.py",
    "V": "unit/host/test_providers.py",
    "W": "lua/session/test_welcome.py",
    "X": "integration/host/flows/test_docs.py",
}


def test_every_test_of_the_table_exists() -> None:
    """It names what is tested elsewhere, so it must follow when tests are renamed."""
    named = re.findall(r"\b([A-Z]) (test_\w+)", __doc__ or "")
    defined = {letter: (TESTS / path).read_text() for letter, path in FILES.items()}
    missing = [test for letter, test in named if f"def {test}(" not in defined[letter]]
    assert missing == []
    assert {letter for letter, _ in named} == FILES.keys()
    assert len(re.findall(r"\btest_", __doc__ or "")) == len(named)


def test_every_row_about_packs_and_flows_is_in_the_table() -> None:
    """Those that the table of sessions leaves to packs and flows, and some of its own."""
    rows = re.findall(r"^[TO]\d+\b", __doc__ or "", re.MULTILINE)
    sessions = (TESTS / "integration/engine/test_session_guarantees.py").read_text()
    wanted = re.search(r"^17 packs and flows +(.*)$", sessions, re.MULTILINE)
    assert wanted is not None
    assert set(wanted[1].split()) <= set(rows)
    assert len(rows) == len(set(rows))


def test_pack_and_flow_agree_on_the_type() -> None:
    """A flow without a type is a conversation, for the pack as for the language."""
    text = "id: main\nnodes: {a: {emit: {text: Hi.}}}\n"
    pack = pack_of({"pack.yaml": b"id: a\nversion: 1.0.0\n", "flows/main.yaml": text.encode()})
    flows, problems = lint_files({"flows/main.yaml": text})
    assert problems == []
    assert flows["main"].type is pack.definition.flows["main"].type is FlowType.MESSAGING


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


@pytest.mark.parametrize("word", ["nan", "Infinity", "-inf", "1e999"])
async def test_a_number_is_one_that_json_has(talking: Talking, word: str) -> None:
    """Another would pass any bounds, and be null when the conversation continues."""
    flow = """
id: price
type: messaging
nodes:
  ask: {ask: {text: Price?, answer: {type: number, minimum: 1}}, out: say}
  say: {emit: {text: "{{ nodes.ask }}"}}
"""
    async with talking(flow) as talk:
        await talk.say("hi")
        await talk.expect("Price?")
        await talk.say(word)
        await talk.expect("Please answer with a number. Price?")
        await talk.say("1.5")
        await talk.expect("1.5")
