from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from holdfast.host.flows.schema import flow_schema
from tests.unit.host.flows.samples import FILES


def _errors(text: str) -> list[Any]:
    validator = jsonschema.Draft202012Validator(flow_schema())
    return list(validator.iter_errors(yaml.safe_load(text)))


def test_the_schema_is_a_schema() -> None:
    """The schema of flow files is valid JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(flow_schema())


@pytest.mark.parametrize("text", FILES.values(), ids=list(FILES))
def test_valid_flows_fit(text: str) -> None:
    """Flows that lint accepts fit the schema."""
    assert _errors(text) == []


@pytest.mark.parametrize(
    "node",
    [
        "{out: end}",
        "{emit: {text: hi}, wait: {}}",
        "{emti: {text: hi}}",
        "{wait: {timout: 2d}}",
        "{call: {component: x}}",
        "{ask: {text: hi, answer: {}, retries: 1000}}",
        "{emit: {text: hi}, out: {to: end}}",
        "{each: {items: [], do: {emit: {text: hi}}}}",
    ],
)
def test_broken_nodes_do_not_fit(node: str) -> None:
    """The schema refuses what the parser refuses."""
    assert _errors(f"id: f\ntype: messaging\nnodes: {{a: {node}}}")


def test_set_may_stand_beside_another_kind() -> None:
    """`set` is a kind of its own, or sets variables from an output."""
    assert not _errors("id: f\ntype: job\nnodes: {a: {set: {x: 1}}}")
    assert not _errors("id: f\ntype: job\nnodes: {a: {end: {}, set: {x: 1}}}")
