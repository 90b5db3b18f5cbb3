"""The simulator plays tests on the real engine, and says what differs."""

from __future__ import annotations

import runpy
from dataclasses import replace

import pytest

from holdfast.host.packs import bundle
from holdfast.host.simulator import reader
from holdfast.host.simulator.recording import Recorder
from holdfast.host.simulator.results import Outcome, Verdict, failure_lines
from holdfast.host.simulator.script import Advance, Step, Test
from holdfast.testing.servers import TestServer
from holdfast.testing.simulator import Simulator, simulated
from tests.support.pack_hosts import PACKS, read_pack
from tests.support.packs import pack_of

HEAD = """\
id: shop
version: 1.0.0
entry: main
components: {orders: {kind: http, source: "https://a.org", operations: [find]}}
models: {small: {base_url: "https://a.org", model: m, key_secret: K}}
secrets: [K]
http_allow: [a.org]
"""
FLOW = """\
id: main
nodes:
  hello: {emit: {text: "Hello {{ user.id }}.", buttons: {a: Alpha, b: Beta}}, out: wait}
  wait:
    wait: {timeout: 1h, on_timeout: late}
    set: {said: "{{ input.choice | default(input.text) }}"}
    out:
      - {when: "vars.said == 'find'", to: find}
      - {when: "vars.said == 'ask'", to: gate}
      - {when: "vars.said == 'think'", to: think}
      - {when: "vars.said == 'fail'", to: fail}
      - {when: "vars.said == 'form'", to: form}
      - {to: echo}
  echo: {emit: {text: "You said {{ vars.said }}.", data: {said: "{{ vars.said }}"}}, out: wait}
  find:
    call: {component: orders, operation: find, input: {id: 1}}
    retry: {max_attempts: 3, initial_ms: 60000}
    out: found
  found: {end: {result: {found: "{{ nodes.find.name }}"}}}
  gate:
    approval: {title: Sure?, approvers: [bob]}
    out: [{when: prev.approved, to: yes_}, {to: end}]
  yes_: {emit: {text: "{{ nodes.gate.by }} agrees."}}
  think: {llm: {model: small, max_tokens: 10}, out: thought}
  thought: {emit: {text: "{{ nodes.think.text }}"}, out: web}
  web: {http: {method: GET, url: "https://a.org/{{ vars.said }}"}, out: got}
  got: {emit: {text: "{{ nodes.web.body.name }}"}, out: wait}
  fail: {set: {said: "{{ int('x') }}"}}
  form: {ask: {text: "Name?", answer: {type: object, required: [name]}}, out: named}
  named: {emit: {text: "{{ nodes.form.name }}"}, out: wait}
  late: {emit: {text: "Too late."}}
"""
JOB = """\
id: add
type: job
nodes:
  say: {emit: {text: Adding.}, out: sum}
  sum: {end: {result: "{{ input.a + input.b }}"}}
"""
EVENTS = """\
id: events
type: event
nodes: {a: {emit: {text: "{{ activity.kind }}: {{ input.size }}"}}}
"""
FAKES = """\
fake:
  - {call: orders.find, returns: {name: lamp}}
  - {llm: small, returns: I think.}
  - {http: GET https://a.org/think, returns: {body: {name: page}}}
"""


async def played(server: TestServer, tests: str, *, names: bool = True) -> list[Outcome]:
    """Play tests of the pack of this module."""
    files = {"pack.yaml": HEAD, "flows/a.yaml": FLOW, "flows/b.yaml": JOB, "flows/c.yaml": EVENTS}
    files |= {"components/x": "", "tests/a.yaml": tests}
    pack = pack_of({name: text.encode() for name, text in files.items()})
    found = reader.read(pack.files, reader.Names.of(pack.definition) if names else None)
    simulator = Simulator(bundle(pack))
    async with simulated(simulator, server) as world:
        return [outcome async for outcome in simulator.play_all(world, found)]


def told(outcomes: list[Outcome]) -> list[str]:
    """Return what a person reads of the tests that failed."""
    failed = [outcome for outcome in outcomes if outcome.verdict is not Verdict.PASSED]
    return [line for outcome in failed for line in failure_lines(outcome)]


async def test_every_kind_of_step_passes_where_it_should(single_server: TestServer) -> None:
    """Messages, buttons, forms, people, models, web servers, time, results and several users."""
    tests = f"""\
{FAKES}
tests:
  Buttons and replies:
    - say: hi
    - expect: {{text: Hello user., buttons: [Alpha, b]}}
    - click: Alpha
    - expect: {{contains: said a, data: {{said: a}}}}
    - click: b
    - expect: {{matches: "said b[.]$"}}
    - advance: 1h
    - expect: Too late.
    - status: ended
    - result: null
    - called: {{call: orders.find, times: 0}}
  Results and pauses between attempts:
    - fake: {{call: orders.find, fails: {{code: busy, retryable: true}}, times: 2}}
    - say: hi
    - expect: Hello user.
    - say: find
    - expect: []
    - result: {{found: lamp}}
    - called: {{call: orders.find, with: {{id: 1}}, times: 3}}
  People:
    - say: hi
    - expect: Hello user.
    - say: ask
    - status: approval
    - {{approve: gate, by: bob}}
    - expect: bob agrees.
  Models, web servers and forms:
    - say: hi
    - expect: Hello user.
    - say: think
    - expect: [I think., page]
    - say: form
    - expect: Name?
    - form: {{name: Ann}}
    - expect: Ann
    - state: {{cart: null}}
  Failures:
    - say: hi
    - expect: Hello user.
    - say: fail
    - expect: {{contains: something went wrong}}
    - status: failed
  Several users:
    - say: hi
    - {{say: hi, user: bob}}
    - {{expect: Hello bob., user: bob}}
    - expect: Hello user.
    - say: x
    - {{say: "y", user: bob}}
    - {{expect: You said y., user: bob}}
    - expect: You said x.
"""
    assert told(await played(single_server, tests)) == []


async def test_flows_without_a_conversation_run(single_server: TestServer) -> None:
    """Jobs have replies and a result; events start conversations as well."""
    job = "flow: add\ntests: {J: [{run: {a: 1, b: 2}}, {expect: Adding.}, {result: 3}]}\n"
    assert told(await played(single_server, job)) == []
    event = "flow: events\ntests: {E: [{event: {size: 3}}, {expect: 'event: 3'}]}\n"
    assert told(await played(single_server, event)) == []
    wrong = "flow: add\ntests: {J: [{say: hi}]}\n"
    assert "start it with `run`" in told(await played(single_server, wrong))[-1]
    wrong = "flow: nothing\ntests: {J: [{say: hi}]}\n"
    assert "no flow `nothing`" in told(await played(single_server, wrong, names=False))[-1]
    wrong = "tests: {J: [{run: {}}]}\n"
    assert "start it with `say`" in told(await played(single_server, wrong))[-1]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("{expect: Hallo.}", ["- Hallo.", "+ Hello user. [buttons]"]),
        ("{expect: [{contains: Hello}, More.]}", ["- More."]),
        ("{expect: []}", ["+ Hello user."]),
        ("{expect: {text: Hello user., buttons: [x]}}", ['- Hello user. [buttons] ["x"]']),
        ("{click: gamma}", ["no reply has a button `gamma`"]),
        ("{status: ended}", ["- ended", "+ waiting"]),
        ("{result: 1}", ["the flow has not ended"]),
        ("{approve: gate}", ["nobody is asked for the approval `gate`"]),
        ("{called: {call: orders.find}}", ["expected 1 of call orders.find, got 0", "none"]),
        ("{state: {cart: 5}}", ["-   cart", "+   cart"]),
        ("{say: find}", ['no fake answers call orders.find with {"id":1}']),
        ("{expect: x, user: bob}", ["bob has said nothing yet"]),
        ("{advance: 1d}", ["replies that the test does not expect", "+ Too late."]),
    ],
)
async def test_what_differs_is_shown_at_its_step(
    single_server: TestServer, steps: str, words: list[str]
) -> None:
    """As pytest does: `-` was expected, `+` came instead."""
    lines = told(await played(single_server, f"tests:\n  A:\n    - say: hi\n    - {steps}\n"))
    text = "\n".join(lines).replace('"cart"', "cart")
    for word in words:
        assert word in text
    assert lines[0] == "--- tests/a.yaml::A ---"
    assert lines[1] == ("tests/a.yaml:2:" if "advance" in steps else "tests/a.yaml:4:")


async def test_a_failed_test_does_not_disturb_the_next(single_server: TestServer) -> None:
    """What still waits is ended; the clock of later tests fires nothing of it."""
    tests = f"""\
{FAKES}
tests:
  A: [{{say: hi}}, {{expect: x}}]
  B: [{{say: hi}}, {{expect: Hello user.}}, {{advance: 1h}}, {{expect: Too late.}}]
"""
    outcomes = await played(single_server, tests)
    assert [outcome.verdict for outcome in outcomes] == [Verdict.FAILED, Verdict.PASSED]


@pytest.mark.parametrize("name", sorted(path.name for path in PACKS.iterdir()))
async def test_the_tests_of_an_example_pass_and_cover_every_node(
    name: str, single_server: TestServer
) -> None:
    """And every way between nodes."""
    pack, tests = read_pack(name)
    simulator = Simulator(bundle(pack))
    async with simulated(simulator, single_server) as world:
        outcomes = [outcome async for outcome in simulator.play_all(world, tests)]
    assert told(outcomes) == []
    assert simulator.coverage.missed() == []
    assert simulator.coverage.percent == 100


def test_the_fakes_of_the_example_answer_as_its_component_does() -> None:
    """Otherwise the tests would say nothing about the pack."""
    _, tests = read_pack("support")
    path = PACKS / "support" / "components" / "orders.py"
    component = runpy.run_path(str(path))
    fakes = [fake for test in tests for fake in test.fakes if fake.target.given]
    assert len(fakes) >= 2
    for fake in fakes:
        operation = component[fake.target.name.partition(".")[2]]
        assert operation(fake.target.given, None) == fake.returns


async def test_coverage_lists_what_did_not_run(single_server: TestServer) -> None:
    """A node that never ran counts once, with all its ways."""
    pack, tests = read_pack("support")
    simulator = Simulator(bundle(pack))
    async with simulated(simulator, single_server) as world:
        await simulator.play(world, tests[0])
    missed = simulator.coverage.missed()
    assert "refund.pay" in missed
    assert "main.choice on_timeout" in missed
    assert not any(one.startswith("refund.pay ") for one in missed)
    assert 0 < simulator.coverage.percent < 50


def _unhurried(test: Test) -> Test:
    """A test in which time passes between any two steps, as it does for people."""
    pause = Advance(ms=1_000)
    steps = [(step, Step(action=pause, position=step.position)) for step in test.steps]
    return replace(test, steps=tuple(one for pair in steps for one in pair))


async def test_a_conversation_becomes_a_test_that_passes(single_server: TestServer) -> None:
    """What components answered becomes fakes, and what people decided becomes steps."""
    pack, tests = read_pack("support")
    recorder = Recorder()
    simulator = Simulator(bundle(pack))
    runners = recorder.runners(simulator.pack.flows.runners)
    simulator.pack.flows.runners = runners
    chosen = [test for test in tests if "refunds" in test.file][:5]
    async with simulated(simulator, single_server) as world:
        for test in chosen:
            assert told([await simulator.play(world, _unhurried(test))]) == []
            page = await world.engine.sessions.list(limit=1)
            text = await recorder.script(
                world.engine, page.items[0].id, name=test.name, flow="main"
            )
            (again,) = reader.read_text(text, "recorded.yaml")
            assert told([await simulator.play(world, again)]) == [], text
            recorder.calls.clear()
