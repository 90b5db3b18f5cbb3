"""Functions as scripts of their own, as a full store without its library runs them."""

from __future__ import annotations

import time
from typing import Any

from typing_extensions import override

from holdfast.model.states import State
from holdfast.store.executions import Executions
from holdfast.store.sessions import Sessions
from holdfast.store.store import Store
from holdfast.store.valkey import library
from holdfast.store.valkey.call import Caller
from holdfast.testing.clock import Clock
from tests.support.graphs import submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, create_one, state_of
from tests.support.sessions import begin, deliver, first_texts, session_of


class ScriptCaller(Caller):
    """Calls functions as scripts only."""

    @override
    async def write(self, function: str, tag: str, *args: str | bytes) -> list[Any]:
        reply = await self._client.call(self._as_script(("FCALL", function, "1", tag, *args)))
        assert reply[0] == b"ok", reply
        return list(reply[1:])


def call_scripts(store: Store) -> None:
    """Call what ends executions as scripts from now on."""
    store.caller = ScriptCaller(store.client, timeout_ms=5_000, loader=store.loader)
    store.executions = Executions(store)
    store.sessions = Sessions(store)


async def test_a_script_completes_a_member_of_a_graph(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The call that ends a member also starts those after it."""
    run = await submit(store, "a b", "a>b")
    claim = (await run.claim())["a"]
    call_scripts(store)
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert await state_of(store, f"{run.id}~b") is State.WAITING
    assert violations(dump(), clock.now_ms) == []


async def test_a_script_completes_an_execution_of_a_session(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The call that ends it also starts the next with what was buffered."""
    claim = await begin(store)
    await deliver(store, "two")
    call_scripts(store)
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert first_texts(await claim_one(store, f"{session_of(claim)}~2")) == ["two"]
    assert violations(dump(), clock.now_ms) == []


async def test_the_product_has_the_clock_of_the_server(store: Store) -> None:
    """In milliseconds; only test builds have another."""
    execution_id = await create_one(store)
    script = library.script("hf_execution_explain")
    before = time.time_ns() // 1_000_000
    _, now, *_ = await store.client.call(
        ["EVAL", script, "1", store.tag_of(execution_id), execution_id]
    )
    assert before <= now <= time.time_ns() // 1_000_000
