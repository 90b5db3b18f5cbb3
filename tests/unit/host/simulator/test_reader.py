"""Test files: what they say, and everything that is wrong in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from holdfast.errors import InvalidPack
from holdfast.host import yaml_source
from holdfast.host.flows.model import NodeKind
from holdfast.host.packs import schemas
from holdfast.host.simulator import reader
from holdfast.host.simulator.reader import Names
from holdfast.host.simulator.schema import VERBS, script_schema
from holdfast.host.simulator.script import (
    Advance,
    Called,
    Decide,
    Expect,
    Failure,
    Fake,
    Line,
    Say,
    Status,
    Target,
)
from holdfast.host.simulator.script import IsStatus as StatusStep

NAMES = Names(
    flows=["main"],
    approvals=["gate"],
    targets={NodeKind.CALL: ["orders.find"], NodeKind.LLM: ["small"], NodeKind.PROVIDER: []},
)
FULL = """\
flow: main
user: ann
fake:
  - {call: orders.find, with: {id: A1}, returns: {status: sent}, times: 2}
  - {llm: small, returns: Hi.}
  - {http: GET https://api.example.org/a, fails: gone}
tests:
  All kinds of steps:
    - {say: hello, user: bob}
    - {click: order}
    - {form: {name: Ann}}
    - {event: {kind: paid}}
    - expect: Hello.
    - expect: [{contains: el, matches: l+, buttons: [a], card: {}, data: {a: 1}}, Bye.]
    - expect: []
    - advance: 2d
    - {approve: gate, by: lead, data: {why: yes}}
    - deny: gate
    - fake: {call: orders.find, fails: {code: gone, message: No., retryable: true}}
    - called: {call: orders.find, times: 0}
    - result: null
    - status: waiting
    - state: {cart: []}
    - run: {a: 1}
"""


def _fits(text: str) -> bool:
    validator = jsonschema.Draft202012Validator(json.loads(schemas.text("test")))
    return bool(validator.is_valid(yaml_source.load(text, "a.yaml").value))


def test_a_file_has_tests_with_steps() -> None:
    """All kinds of steps, with the defaults of the file."""
    (test,) = reader.read({"tests/a.yaml": FULL.encode(), "tests/data/b.yaml": b"-"}, NAMES)
    assert test.id == "tests/a.yaml::All kinds of steps"
    assert test.flow == "main"
    assert test.moves_time
    find = Target(kind=NodeKind.CALL, name="orders.find", given={"id": "A1"})
    assert test.fakes[0] == Fake(target=find, returns={"status": "sent"}, times=2)
    assert test.fakes[2].fails == Failure(code="gone", message="fake: gone")
    actions = [step.action for step in test.steps]
    assert actions[0] == Say(user="bob", text="hello")
    assert actions[1] == Say(user="ann", click="order")
    assert actions[4] == Expect(user="ann", lines=(Line(text="Hello."),))
    assert actions[6] == Expect(user="ann", lines=())
    assert actions[7] == Advance(ms=172_800_000)
    decision = Decide(user="ann", node="gate", approves=True, by="lead", data={"why": "yes"})
    assert actions[8] == decision
    assert actions[11] == Called(target=Target(kind=NodeKind.CALL, name="orders.find"), times=0)
    assert actions[13] == StatusStep(user="ann", status=Status.WAITING)
    assert test.steps[3].position.line == 12


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tests: {a: [", "tests/a.yaml:"),
        ("- a", "the file must be a mapping"),
        ("user: a", "the file needs the field `tests`"),
        ("test: {}\ntests: {}", "did you mean `tests`?"),
        ("tests: [a]", "`tests` must be a mapping"),
        ("tests: {a: {say: b}}", "the test `a` must be a list"),
        ("tests: {a: [say]}", "item 1 of the test `a` must be a mapping"),
        ("tests: {a: [{sya: b}]}", "did you mean `say`?"),
        ("tests: {a: [{say: b, click: c}]}", "has `say` and `click`; it takes one"),
        ("tests: {a: [{say: b, usr: c}]}", "a step `say` has no field `usr`"),
        ("tests: {a: [{say: b, by: c}]}", "a step `say` has no field `by`"),
        ("tests: {a: [{say: 5}]}", "quote it to make it text"),
        ("tests: {a: [{say: ''}]}", "must be a text"),
        ("tests: {a: [{form: b}]}", "must be a mapping"),
        ("tests: {a: [{expect: {}}]}", "must not be empty"),
        ("tests: {a: [{expect: {txt: b}}]}", "has no field `txt`"),
        ("tests: {a: [{expect: {matches: '('}}]}", "must be a regular expression"),
        ("tests: {a: [{expect: [5]}]}", "must be a text"),
        ("tests: {a: [{advance: 2 days}]}", "must be a duration such as"),
        ("tests: {a: [{approve: gat}]}", "names the approval `gat`"),
        ("tests: {a: [{status: done}]}", "must be waiting or approval or ended or failed"),
        ("tests: {a: [{state: 5}]}", "must be a mapping"),
        ("tests: {a: [{called: {call: orders.find, times: -1}}]}", "from 0 to 1000"),
        ("tests: {a: [{called: {}}]}", "needs one of `call`"),
        ("fake: {call: orders.fnd, returns: 1}\ntests: {}", "did you mean `orders.find`?"),
        ("fake: {llm: large, returns: 1}\ntests: {}", "names the model `large`"),
        ("fake: {provider: tg.send, returns: 1}\ntests: {}", "names the operation `tg.send`"),
        ("fake: {call: orders.find}\ntests: {}", "needs one of `returns`, `fails`"),
        ("fake: {call: orders.find, returns: 1, fails: x}\ntests: {}", "it takes one"),
        ("fake: {call: orders.find, llm: small, returns: 1}\ntests: {}", "it takes one"),
        ("fake: {call: orders.find, fails: {message: x}}\ntests: {}", "needs the field `code`"),
        ("fake: {call: orders.find, returns: 1, times: 0}\ntests: {}", "from 1 to 1000"),
        ("fake: {call: orders.find, return: 1}\ntests: {}", "did you mean `returns`?"),
        ("flow: mian\ntests: {}", "did you mean `main`?"),
        ("user: 5\ntests: {}", "must be a text"),
        (f"user: {'x' * 101}\ntests: {{}}", "may have 100 characters"),
    ],
)
def test_a_defect_is_reported_where_it_is(text: str, words: str) -> None:
    """With what to do, where that is known."""
    with pytest.raises(InvalidPack) as raised:
        reader.read({"tests/a.yaml": text.encode()}, NAMES)
    assert words in str(raised.value)
    assert str(raised.value).startswith("tests/a.yaml:")


def test_all_defects_are_reported_at_once() -> None:
    """Of all files."""
    files = {"tests/a.yaml": b"tests: {a: [{sya: b}]}", "tests/b.yaml": b"tests: 5"}
    with pytest.raises(InvalidPack) as raised:
        reader.read(files, NAMES)
    assert [one["file"] for one in raised.value.context["defects"]] == [*files]


def test_the_published_schema_is_that_of_the_reader() -> None:
    """It has every step, and every field beside one."""
    assert schemas.text("test") == f"{json.dumps(script_schema(), indent=2)}\n"
    assert VERBS.keys() == reader.SIBLINGS.keys()
    assert _fits(FULL)


@pytest.mark.parametrize(
    "text",
    [
        *("user: a", "tests: [a]", "tests: {a: [{sya: b}]}", "tests: {a: [{say: b, click: c}]}"),
        *("tests: {a: [{expect: {}}]}", "tests: {a: [{advance: soon}]}", "tests: {a: [{say: 5}]}"),
        *("fake: {call: a.b}\ntests: {}", "fake: {call: a.b, returns: 1, fails: x}\ntests: {}"),
    ],
)
def test_wrong_files_do_not_fit_the_schema(text: str) -> None:
    """An editor marks what the reader refuses."""
    assert not _fits(text)


def test_the_documents_have_every_step_and_a_test_that_is_read() -> None:
    """Authors find what there is in docs/packs.md."""
    page = (Path(__file__).parents[4] / "docs" / "packs.md").read_text("utf-8")
    rows = page.split("| step | means |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([a-z]+): ", rows)) >= reader.SIBLINGS.keys()
    example = re.search(r'```yaml title="tests/refunds.yaml"\n(.*?)```', page, re.DOTALL)
    assert example is not None
    assert _fits(example[1])
    assert len(reader.read_text(example[1], "refunds.yaml")) == 1
