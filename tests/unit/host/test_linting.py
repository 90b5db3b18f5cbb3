"""Lint of whole packs."""

from __future__ import annotations

import random

from holdfast.host.flows.model import NodeKind
from holdfast.host.flows.render import as_sarif
from holdfast.host.linting import ALL_CODES, lint_pack
from tests.support.packs import FULL, PACK, files_of
from tests.unit.host.flows.samples import FILES


def _found(files: dict[str, bytes]) -> list[str]:
    return [f"{one.file}:{one.line}: {one.code}" for one in lint_pack(files).problems]


def test_valid_packs_have_no_problems() -> None:
    """Packs that are read without defects, and whose flows are valid, have no problems."""
    assert _found(files_of()) == []
    assert _found(files_of(FULL)) == []


def test_flows_know_what_the_pack_declares() -> None:
    """Components, operations and models of flows are those of pack.yaml."""
    main = """id: main
type: messaging
nodes:
  a: {call: {component: orders, operation: fnd}, out: b}
  b: {llm: {model: large, max_tokens: 5}, out: c}
  c: {call: {component: order, operation: find}}
"""
    assert _found(files_of(main=main)) == [
        "flows/main.yaml:4: unknown_operation",
        "flows/main.yaml:5: unknown_model",
        "flows/main.yaml:6: unknown_component",
    ]


def test_problems_of_the_pack_do_not_hide_those_of_flows() -> None:
    """Lint reports what is wrong in pack.yaml and in flows together."""
    main = "id: main\ntype: messaging\nnodes: {a: {emit: {text: '{{ nope }}'}}}\n"
    found = _found(files_of(PACK.replace("version: 1.2.0", "version: one"), main=main))
    assert found == ["flows/main.yaml:3: unknown_name", "pack.yaml:2: invalid_field"]


def test_expressions_of_the_routing_are_checked() -> None:
    """A rule whose condition is no expression is reported."""
    pack = FULL.replace("input.text == 'hi'", "input.text = 'hi'")
    (problem,) = lint_pack(files_of(pack)).problems
    assert (problem.code, problem.file) == ("bad_expression", "pack.yaml")


def test_a_host_may_lack_kinds() -> None:
    """Nodes of kinds that a host does not run are errors for it."""
    kinds = frozenset(NodeKind) - {NodeKind.EMIT}
    report = lint_pack(files_of(), kinds)
    assert {problem.code for problem in report.problems} == {"not_supported"}
    assert not report.is_valid


def test_mutated_packs_never_crash_lint() -> None:
    """A hundred mutated packs are checked and reported without a crash."""
    for seed in range(100):
        chance = random.Random(seed)
        flows = {name.removeprefix("flows/").removesuffix(".yaml"): t for name, t in FILES.items()}
        files = files_of(FULL, **flows)
        name = chance.choice([*(name for name in files if name.endswith(".yaml"))])
        data = bytearray(files[name])
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(data))
            data[at : at + chance.choice([0, 1, 9])] = chance.randbytes(chance.choice([0, 1, 2]))
        files[name] = bytes(data)
        as_sarif(lint_pack(files).problems, "1", ALL_CODES)
