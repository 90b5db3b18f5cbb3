"""Pictures of flows."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from holdfast.host.flows import picture, svg
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.model import Flow
from tests.support.pack_hosts import read_pack

FLOW = """
id: shop
title: A <shop>
nodes:
  hello: {emit: {text: 'Say "hi" <now> | please'}, out: ask}
  ask: {ask: {text: "Which?", answer: {type: string}, timeout: 1d, on_timeout: bye}, out: find}
  find:
    call: {component: orders, operation: find, input: {}}
    on_error: bye
    out: [{when: "prev.ok && input.text != 'x'", to: hello}, {to: leave}]
  leave: {goto: {flow: other}}
  bye: {emit: {text: Bye.}}
"""
LONG = "id: long\nnodes:\n" + "".join(
    f"  n{n}: {{emit: {{text: a}}, out: [{{when: 'true', to: n{n + 1}}}, {{to: n80}}]}}\n"
    for n in range(80)
)


def _flow(text: str) -> Flow:
    flows, _ = lint_files({"flows/a.yaml": text})
    return next(iter(flows.values()))


def test_a_picture_has_all_nodes_and_ways() -> None:
    """Ways say their condition; those that lead back are marked."""
    shown = picture.picture(_flow(FLOW))
    assert [box.id for box in shown.boxes][:3] == ["hello", "ask", "find"]
    assert {box.id: box.look for box in shown.boxes} == {
        "hello": "says",
        "ask": "waits",
        "find": "reaches",
        "leave": "steers",
        "bye": "says",
        "end": "end",
    }
    arrows = {(one.source, one.target): (one.label, one.is_back) for one in shown.arrows}
    assert arrows == {
        ("hello", "ask"): ("", False),
        ("ask", "find"): ("", False),
        ("ask", "bye"): ("on_timeout", False),
        ("find", "hello"): ("prev.ok && input.text != 'x'", True),
        ("find", "leave"): ("otherwise", False),
        ("find", "bye"): ("on_error", False),
        ("bye", "end"): ("", False),
    }


def test_mermaid_reads_no_text_as_syntax() -> None:
    """Quotes, brackets and bars are written as codes."""
    text = picture.as_mermaid(_flow(FLOW))
    assert text.startswith("flowchart TD\n")
    assert 'n0["hello<br/>emit: Say #34;hi#34; #60;now#62; #124; please"]' in text
    assert 'n2 -->|"on_error"|' in text


@pytest.mark.parametrize("text", [FLOW, LONG], ids=["small", "long"])
def test_an_svg_has_every_box_once_and_none_overlap(text: str) -> None:
    """It is well-formed, whatever texts say."""
    flow = _flow(text)
    root = ET.fromstring(svg.as_svg(flow))  # noqa: S314 - our own
    space = "{http://www.w3.org/2000/svg}"
    boxes = [group.find(f"{space}rect") for group in root.findall(f"{space}g")]
    assert len(boxes) == len(flow.nodes)
    spots = sorted(
        (int(box.get("y", "")), int(box.get("x", "")), int(box.get("width", "")))
        for box in boxes
        if box is not None
    )
    for (y, x, width), (other_y, other_x, _) in pairwise(spots):
        assert y != other_y or x + width <= other_x


def test_the_flows_of_the_examples_have_pictures() -> None:
    """A box for each node, and one for the end."""
    pack, _ = read_pack("support")
    files = {name: data for name, data in pack.files.items() if name.startswith("flows/")}
    flows, _ = lint_files(files)
    for flow in flows.values():
        assert flow.nodes.keys() <= {box.id for box in picture.picture(flow).boxes}
        assert svg.as_svg(flow).count("<g>") == len(flow.nodes)
