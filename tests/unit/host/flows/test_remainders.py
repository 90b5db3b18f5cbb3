"""What is left of a flow: changes that matter to those who wait, and changes that do not."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.host.flows.progress import Frame
from holdfast.host.flows.remainders import Remainder
from holdfast.host.flows.runners import Runners
from holdfast.host.loading import read_flows
from holdfast.host.packs import bundle
from tests.support.packs import pack_of

MAIN = """\
id: main
nodes:
  hello: {emit: {text: hello}, out: name}
  name: {wait: {}, out: sub, on_error: sorry}
  sub: {flow: {flow: helper}, out: bye}
  bye: {emit: {text: bye}, out: end}
  sorry: {emit: {text: sorry}, out: end}
  lost: {emit: {text: lost}, out: end}
"""
HELPER = """\
id: helper
internal: true
vars: {color: {default: red}}
nodes:
  first: {emit: {text: first}, out: ask}
  ask: {wait: {}, out: last}
  last: {emit: {text: last}, out: end}
"""
NAME = [Frame(flow="main", node="name")]
ASK = [Frame(flow="main", node="sub"), Frame(flow="helper", node="ask")]


async def _run(*_: Any) -> Any:
    raise NotImplementedError


def digest(frames: list[Frame], main: str = MAIN, helper: str = HELPER) -> str | None:
    """The digest of what is left."""
    files = {
        "pack.yaml": b"id: shop\nversion: 1.0.0\nentry: main\n",
        "flows/main.yaml": main.encode(),
        "flows/helper.yaml": helper.encode(),
    }
    packs = bundle(pack_of(files))
    flows = read_flows(packs, Runners(call=_run, http=_run, llm=_run, provider=_run, state=_run))
    return Remainder(flows.flows, packs).digest(frames)


@pytest.mark.parametrize(
    ("frames", "old", "new", "same"),
    [
        (NAME, "text: hello", "text: hi", True),
        (NAME, "text: lost", "text: found", True),
        (NAME, "id: main\n", "# a comment\nid: main\ntitle: Main\n", True),
        (NAME, "{text: bye}", "{text: ciao}", False),
        (NAME, "text: sorry", "text: oh", False),
        (NAME, "text: first", "text: 1st", False),
        (NAME, "default: red", "default: blue", False),
        (ASK, "text: first", "text: 1st", True),
        (ASK, "default: red", "default: blue", True),
        (ASK, "text: sorry", "text: oh", True),
        (ASK, "text: last", "text: end", False),
        (ASK, "{text: bye}", "{text: ciao}", False),
        (ASK, "flow: helper}, out: bye", "flow: helper}, out: sorry", False),
    ],
)
def test_only_what_can_still_run_counts(
    frames: list[Frame], old: str, new: str, same: bool
) -> None:
    """In the flow that waits, and in those that run it."""
    assert old in MAIN + HELPER
    changed = digest(frames, MAIN.replace(old, new), HELPER.replace(old, new))
    assert (changed == digest(frames)) is same


def test_a_node_that_does_not_exist_has_no_digest() -> None:
    """Nor does a flow."""
    assert digest([Frame(flow="main", node="gone")]) is None
    assert digest([Frame(flow="gone", node="name")]) is None
