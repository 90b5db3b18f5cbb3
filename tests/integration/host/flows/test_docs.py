"""The examples of docs/flows.md run, and its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast import App
from holdfast.host.flows.declaring import declare_flow
from holdfast.host.flows.functions import FUNCTIONS
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.known import Known, operations
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.model import FLOW_KEYS, SIBLINGS, NodeKind
from holdfast.host.flows.problems import CODES
from holdfast.host.flows.runners import (
    ComponentCall,
    HttpCall,
    ModelCall,
    NodeFailed,
    ProviderCall,
    Runners,
    Secret,
)
from holdfast.testing import conversation
from holdfast.testing.servers import TestServer

DOCUMENT = (Path(__file__).parents[4] / "docs" / "flows.md").read_text()
_EXAMPLE = re.compile(r"((?:```yaml\n.*?```\n+)+)```text\n(.*?)```", re.DOTALL)
_BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
EXAMPLES = [(_BLOCK.findall(blocks), script) for blocks, script in _EXAMPLE.findall(DOCUMENT)]


async def _find(call: ComponentCall) -> Any:
    if call.input["id"] == "lost":
        raise NodeFailed("not_found", "there is no such order")
    return {"id": call.input["id"], "status": "sent"}


async def _think(call: ModelCall) -> Any:
    assert (call.system, call.rounds) == ("Be short.", 8)
    text = f"{call.model} says {call.messages[0]['content']}"
    return {"text": text, "usage": {}, "calls": []}


async def _fetch(call: HttpCall) -> Any:
    assert call.headers == {"Authorization": Secret(name="api_key")}
    return {"status": 200, "headers": {}, "body": call.url}


async def _send(call: ProviderCall) -> Any:
    return {"ok": call.operation == "send"}


KNOWN = Known(
    components=operations({"orders": ["find"]}),
    models=frozenset({"small"}),
    providers={"telegram": frozenset({"send"})},
    secrets=frozenset({"api_key"}),
    http_allow=frozenset({"api.example.com"}),
)
RUNNERS = Runners(call=_find, llm=_think, http=_fetch, provider=_send)


@pytest.mark.parametrize(
    ("texts", "script"), EXAMPLES, ids=[yaml.safe_load(texts[0])["id"] for texts, _ in EXAMPLES]
)
async def test_an_example_runs(texts: list[str], script: str, single_server: TestServer) -> None:
    """An example has no problems, and says what the page shows."""
    files = {f"{number}.yaml": text for number, text in enumerate(texts)}
    found, problems = lint_files(files, KNOWN)
    assert problems == []
    app = App()
    kind = declare_flow(app, Flows(found, RUNNERS, known=KNOWN), next(iter(found)))
    async with conversation(app, kind, server=single_server, user="ann") as talk:
        expected: list[str] = []
        for line in [*script.splitlines(), "> "]:
            mark, _, words = line.partition(" ")
            if mark == "<":
                expected.append(words)
                continue
            if expected:
                await talk.expect(*expected)
            expected = []
            if mark == "+":
                decision, node, _, by = words.split()
                await (talk.approve if decision == "approve" else talk.deny)(node, by=by)
            elif words:
                await talk.say(words)


def test_every_kind_has_an_example() -> None:
    """There is a section with an example for each kind of node."""
    sections = set(re.findall(r"^### (\w+)$", DOCUMENT, re.MULTILINE))
    assert sections == {kind.value for kind in NodeKind}
    used: set[str] = set()
    for texts, _ in EXAMPLES:
        for text in texts:
            for node in yaml.safe_load(text)["nodes"].values():
                used |= set(node)
    assert {kind.value for kind in NodeKind} <= used


def _first_column(heading: str) -> set[str]:
    part = DOCUMENT.split(heading, 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`.*?) \|", part, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_the_tables_are_complete() -> None:
    """Keys, functions and codes are those of the source."""
    assert _first_column("## The file") == {*FLOW_KEYS, *SIBLINGS}
    words = _first_column("## Values and expressions")
    names = {re.sub(r"^\w\.", "", word).partition("(")[0] for word in words if "(" in word}
    times = {name for name in FUNCTIONS if name.startswith("get")}
    assert names == set(FUNCTIONS) - times
    assert _first_column("## What is checked") == set(CODES)
