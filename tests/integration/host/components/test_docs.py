"""The example of docs/components.md runs, and its tables are complete."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import msgspec
import wasmtime

from holdfast import App
from holdfast.host.components import Components, Sandbox, Services, requests
from holdfast.host.components.failures import CODES
from holdfast.host.components.limits import MOST, USUAL
from holdfast.host.components.python import child
from holdfast.host.components.states import PackStates
from holdfast.host.flows.declaring import declare_flow
from holdfast.host.flows.runners import Runners
from holdfast.host.grants import Grants
from holdfast.host.loading import read_flows
from holdfast.host.packs import bundle, load_folder
from holdfast.host.tenant_state import TenantState
from holdfast.store.store import Store
from holdfast.testing import conversation
from holdfast.testing.servers import TestServer

DOCUMENT = (Path(__file__).parents[4] / "docs" / "components.md").read_text()
_FILE = re.compile(r"```\w+\n(?:#|;;) ([\w./-]+).*?\n(.*?)```", re.DOTALL)
FILES = dict(_FILE.findall(DOCUMENT))
SCRIPT = re.findall(r"```text\n(.*?)```", DOCUMENT, re.DOTALL)[0]


def write_pack(folder: Path) -> Path:
    """Write the files of the example, the WASM compiled."""
    for name, text in FILES.items():
        if name == "host.py":
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".wat":
            path.with_suffix(".wasm").write_bytes(wasmtime.wat2wasm(text))
        else:
            path.write_text(text)
    return folder


async def test_the_example_says_what_the_page_shows(
    tmp_path: Path, store: Store, single_server: TestServer
) -> None:
    """The pack runs with its components in a conversation, state and replies included."""
    pack = load_folder(write_pack(tmp_path))
    sandbox = Sandbox()
    states = PackStates(store)
    components = await Components.load(pack, sandbox, Services(states=states), trusted=True)
    state = TenantState(states, Grants.of(bundle(pack)).flows)
    flows = read_flows(bundle(pack), Runners(call=components, state=state))
    app = App()
    kind = declare_flow(app, flows, "main")
    async with conversation(app, kind, server=single_server, user="ann") as talk:
        for block in re.findall(r"> (.*)\n((?:< .*\n)*)", SCRIPT):
            await talk.say(block[0])
            await talk.expect(*(line[2:] for line in block[1].splitlines()))
    await components.close()
    sandbox.close()


async def test_the_host_of_the_page_loads_the_pack(
    tmp_path: Path, single_server: TestServer
) -> None:
    """The code at the end of the page works as it is."""
    names: dict[str, Any] = {}
    exec(FILES["host.py"], names)  # noqa: S102 - it is the document
    store = f"embedded://{tmp_path / 'store'}"
    assert await names["main"](store, str(write_pack(tmp_path / "pack"))) == "shop: 1 flow"


def _rows(heading: str) -> list[list[str]]:
    part = DOCUMENT.split(heading, 1)[1].split("\n## ", 1)[0]
    return [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| `")]


def test_the_tables_are_complete() -> None:
    """Codes, requests, functions and limits are those of the source."""
    assert {row[0].strip("`"): row[1] for row in _rows("## Failures")} == CODES
    kinds = {one.__struct_config__.tag: one for one in requests.Request.__args__}
    rows = {row[0].strip("`") for row in _rows("## Requests") if row[0].startswith("`{")}
    for row in rows:
        tag = re.findall(r'"call": "([\w.]+)"', row)[0]
        fields = {field.encode_name: field.required for field in msgspec.structs.fields(kinds[tag])}
        shown = re.findall(r'"(\w+)"(\??)', row.partition(",")[2])
        assert {name: not mark for name, mark in shown} == fields
    assert len(rows) == len(kinds)
    own = {name for name in dir(child.Host(_NO_PIPE, {})) if not name.startswith("_")} - {"Failed"}
    documented = {re.split(r"[.(`]", row[0].strip("`"))[0] for row in _rows("## Python")}
    assert documented == own
    for name, default, most, *_ in _rows("## Limits"):
        field = {"timeout": "timeout_ms"}.get(name.strip("`"), name.strip("`"))
        for text, limits in ((default, USUAL), (most, MOST)):
            assert _number(text) == getattr(limits, field)


_NO_PIPE: Any = None


def _number(text: str) -> int | None:
    if text == "none":
        return None
    unit = {"s": 1_000, "m": 60_000}.get(text[-1])
    return int(text) if unit is None else int(text[:-1]) * unit


def test_the_child_imports_nothing_of_holdfast() -> None:
    """The file of the process runs alone."""
    assert not re.search(r"^\s*(import|from) holdfast", inspect.getsource(child), re.MULTILINE)
