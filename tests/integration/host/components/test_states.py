"""The state of packs, as components of both kinds use it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.host.components import Sandbox, Services
from holdfast.host.components.states import PackStates, StateValue
from holdfast.model.pack_states import StateScope
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support import wat
from tests.support.components import call_of, loaded, pack_of

COUNT = """
def run(input, host):
    found = host.state.get("count") or {"value": 0, "version": 0}
    host.state.set("count", found["value"] + 1, version=found["version"], ttl_ms=5000)
    return found["value"] + 1

def steal(input, host):
    try:
        host.state.set("count", 99, version=12345)
    except host.Failed as failure:
        return failure.error["code"]

def forget(input, host):
    return [host.state.remove("count"), host.state.get("count")]
"""


async def test_python_counts_for_each_tenant(store: Store, clock: Clock) -> None:
    """Values belong to the tenant, change only from a known version, and end."""
    sandbox, services = Sandbox(), Services(states=PackStates(store))
    pack = pack_of({"py": ("python", COUNT)}, operations=("run", "steal", "forget"))
    async with loaded(pack, sandbox, services) as components:

        async def run(operation: str = "run", tenant: str = "a") -> Any:
            return await components(call_of("py", operation=operation, tenant=tenant))

        assert [await run(), await run(), await run(tenant="b")] == [1, 2, 1]
        assert await run("steal") == "state_conflict"
        assert await run("forget", "b") == [True, None]
        await clock.advance(5_000)
        assert await run() == 1
    sandbox.close()


async def test_wasm_asks_through_its_memory(store: Store) -> None:
    """The same requests, as JSON in memory."""
    sandbox, services = Sandbox(), Services(states=PackStates(store))
    requests = {
        "write": {"call": "state.set", "key": "k", "value": {"ä": [1]}},
        "read": {"call": "state.get", "key": "k"},
        "odd": {"call": "state.get", "key": ""},
        "other": {"call": "state.drop"},
    }
    pack = pack_of(
        {name: ("wasm", wat.asking(json.dumps(request))) for name, request in requests.items()}
    )
    async with loaded(pack, sandbox, services) as components:
        assert await components(call_of("read")) == {"ok": None}
        written = (await components(call_of("write")))["ok"]
        assert (await components(call_of("read"))) == {
            "ok": {"value": {"ä": [1]}, "version": written["version"]}
        }
        for name in ("odd", "other"):
            assert (await components(call_of(name)))["error"]["code"] == "invalid_request"
        assert await components(call_of("read", tenant="other")) == {"ok": None}
    sandbox.close()


async def test_values_and_names_are_checked(store: Store) -> None:
    """What no component can write, nobody can."""
    states, scope = PackStates(store), StateScope(env="e", tenant="t", pack="p")
    version = await states.set(scope, "a", [1])
    assert await states.get(scope, ["a", "b"]) == {"a": StateValue([1], version), "b": None}
    for name in ("", "x" * 201, "a\nb"):
        with pytest.raises(InvalidInput):
            await states.set(scope, name, 1)
    with pytest.raises(InvalidInput):
        await states.set(scope, "a", 1, ttl_ms=0)
    with pytest.raises(TooLarge):
        await states.set(scope, "a", "x" * 65_536)
    with pytest.raises(InvalidInput):
        StateScope(env="e|t", tenant="t", pack="p")
