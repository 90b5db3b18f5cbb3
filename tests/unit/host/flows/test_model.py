"""The enums of the model are the only list of types and kinds."""

from __future__ import annotations

import typing

from holdfast.host.flows import model
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.model import ACTIONS, FlowType, NodeKind
from holdfast.host.flows.schema import flow_schema
from tests.unit.host.flows.samples import FILES, KNOWN


def test_every_kind_has_a_dataclass() -> None:
    """The kinds, their dataclasses and the union of them are the same."""
    assert set(ACTIONS) == set(NodeKind)
    assert set(typing.get_args(model.Action)) == set(ACTIONS.values())
    assert all(cls.kind is kind for kind, cls in ACTIONS.items())  # type: ignore[attr-defined]


def test_the_schema_has_every_kind_and_type() -> None:
    """The schema lists the kinds of nodes and the types of flows that the parser reads."""
    schema = flow_schema()
    node = schema["$defs"]["node"]["properties"]
    assert set(node) == {kind.value for kind in NodeKind} | set(model.SIBLINGS)
    assert schema["properties"]["type"]["enum"] == [one.value for one in FlowType]
    assert set(schema["properties"]) == set(model.FLOW_KEYS)


def test_the_samples_have_every_kind() -> None:
    """The valid flows use every kind, so that each is read and checked."""
    flows, _ = lint_files(FILES, KNOWN)
    kinds = {node.kind for flow in flows.values() for node in flow.nodes.values()}
    assert kinds == set(NodeKind)


def test_no_sibling_is_taken_for_a_kind() -> None:
    """Only `set` is both a kind and a key beside one."""
    both = {kind.value for kind in NodeKind} & set(model.SIBLINGS)
    assert both == {"set"}
