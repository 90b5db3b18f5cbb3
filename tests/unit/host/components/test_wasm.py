"""WASM components: each misbehaviour is stopped with its own error, and the host is unharmed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import wasmtime

from holdfast.errors import InvalidInput, InvalidPack
from holdfast.host.components import Components, Sandbox, SandboxSettings, WasiPolicy
from holdfast.host.flows.runners import NodeFailed
from tests.support import wat
from tests.support.components import call_of, loaded, pack_of

PROGRAMS = {
    "echo": wat.ECHO,
    "loop": wat.LOOP,
    "trap": wat.TRAP,
    "divide": wat.DIVIDE,
    "exit": wat.EXIT,
    "mixed": wat.MIXED,
    "deep": wat.DEEP,
    "bomb": wat.BOMB,
    "flood": wat.FLOOD,
    "file": wat.FILE,
    "socket": wat.SOCKET,
    "environ": wat.ENVIRON,
    "sleep": wat.SLEEP,
    "words": wat.saying("no JSON"),
    "silent": wat.saying(""),
    "wild": wat.WILD,
    "chat": wat.CHAT,
    "large": wat.command("nop", pages=2_000),
    "model.echo": wat.ECHO_COMPONENT,
    "model.refuse": wat.REFUSING_COMPONENT,
    "model.loop": wat.LOOP_COMPONENT,
    "model.ask": wat.ASKING_COMPONENT,
}


@pytest.fixture(scope="module")
async def components(sandbox: Sandbox) -> AsyncIterator[Components]:
    """Return programs of all kinds."""
    pack = pack_of({name: ("wasm", code) for name, code in PROGRAMS.items()})
    async with loaded(pack, sandbox) as made:
        yield made


async def test_a_command_gets_the_call_and_returns_json(components: Components) -> None:
    """Standard input has the operation, the input and the facts; standard output the result."""
    given = {"id": "A1", "näme": [1, 2.5, None, True]}
    assert await components(call_of("echo", given)) == {
        "operation": "run",
        "input": given,
        "call": {
            "execution": "e1",
            "tenant": "acme",
            "env": "default",
            "flow": "main",
            "node": "find",
            "idempotency_key": "e1/1.main.find",
        },
    }


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("loop", "component_timeout"),
        ("sleep", "component_timeout"),
        ("model.loop", "component_timeout"),
        ("trap", "component_trapped"),
        ("divide", "component_trapped"),
        ("exit", "component_failed"),
        ("mixed", "component_failed"),
        ("deep", "component_stack_overflow"),
        ("bomb", "component_memory"),
        ("large", "component_memory"),
        ("flood", "component_output_too_large"),
        ("file", "component_denied"),
        ("socket", "component_denied"),
        ("words", "component_invalid_output"),
        ("silent", "component_invalid_output"),
        ("nobody", "unknown_component"),
    ],
)
async def test_each_misbehaviour_has_its_own_error(
    components: Components, name: str, code: str
) -> None:
    """The call fails with a code that says why, and the next call works."""
    with pytest.raises(NodeFailed) as failure:
        await components(call_of(name, timeout_ms=300))
    assert failure.value.code == code
    assert (await components(call_of("echo", 1)))["input"] == 1


async def test_an_operation_that_is_not_declared_is_refused(components: Components) -> None:
    """A flow cannot call what the pack does not declare."""
    with pytest.raises(NodeFailed) as failure:
        await components(call_of("echo", operation="other"))
    assert failure.value.code == "unknown_operation"


async def test_an_input_that_is_too_large_is_refused(components: Components) -> None:
    """The input is bounded before it reaches the code."""
    with pytest.raises(NodeFailed) as failure:
        await components(call_of("echo", "x" * 1_100_000))
    assert failure.value.code == "component_invalid_input"


async def test_places_outside_of_its_memory_are_refused(components: Components) -> None:
    """The host survives whatever numbers the code gives it, and so does the code."""
    assert await components(call_of("wild")) is True


async def test_a_sandbox_that_closes_ends_calls_under_way() -> None:
    """A host that stops does not wait for endless loops and sleepers."""
    sandbox = Sandbox()
    pack = pack_of({"loop": ("wasm", wat.LOOP), "sleep": ("wasm", wat.SLEEP)})
    async with loaded(pack, sandbox) as components:
        tasks = [asyncio.ensure_future(components(call_of(name))) for name in ("loop", "sleep")]
        await asyncio.sleep(0)
        sandbox.close()
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    codes = {one.code for one in outcomes if isinstance(one, NodeFailed)}
    assert codes <= {"component_timeout", "component_busy"}
    assert len(outcomes) == 2


async def test_a_command_sees_no_variables_of_the_host(
    components: Components, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment of the host stays its own."""
    monkeypatch.setenv("HOLDFAST_TEST_SECRET", "hidden")
    assert await components(call_of("environ")) == ""


async def test_the_policy_gives_variables_and_folders(tmp_path: Path) -> None:
    """A command sees exactly the variables and folders that the host lists."""
    (tmp_path / "facts.json").write_text('{"answer": 42}')
    policy = WasiPolicy(env={"REGION": "north"}, folders={"/facts": tmp_path})
    sandbox = Sandbox(SandboxSettings(wasi=policy))
    pack = pack_of({"environ": ("wasm", wat.ENVIRON), "file": ("wasm", wat.FILE)})
    async with loaded(pack, sandbox) as components:
        assert await components(call_of("environ")) == "REGION=north"
        assert await components(call_of("file")) == {"answer": 42}
    sandbox.close()
    with pytest.raises(InvalidInput, match="is not a folder"):
        WasiPolicy(folders={"/facts": tmp_path / "missing"})


async def test_a_component_of_the_component_model_takes_and_returns_json(
    components: Components,
) -> None:
    """`invoke` gets the operation and the input as texts."""
    assert await components(call_of("model.echo", {"a": ["ü"]})) == {"a": ["ü"]}
    failure = {"code": "not_found", "message": "no such order", "retryable": True}
    with pytest.raises(NodeFailed, match="no such order") as caught:
        await components(call_of("model.refuse", failure))
    assert (caught.value.code, caught.value.retryable) == ("not_found", True)
    answer = await components(call_of("model.ask", {"call": "log", "message": "hello"}))
    assert answer == {"ok": None}


async def test_fuel_bounds_the_instructions(sandbox: Sandbox) -> None:
    """A component with a limit of fuel is stopped by it, whatever the clock says."""
    pack = pack_of({"loop": ("wasm", wat.LOOP), "echo": ("wasm", wat.ECHO)}, limits="fuel: 100000")
    async with loaded(pack, sandbox) as components:
        with pytest.raises(NodeFailed) as failure:
            await components(call_of("loop"))
        assert failure.value.code == "component_out_of_fuel"
        assert (await components(call_of("echo", 1)))["input"] == 1


async def test_the_time_of_the_node_bounds_the_call(sandbox: Sandbox) -> None:
    """A node that has less time than its component gets a failure in its own time."""
    async with loaded(pack_of({"loop": ("wasm", wat.LOOP)}), sandbox) as components:
        started = time.monotonic()
        with pytest.raises(NodeFailed) as failure:
            await components(call_of("loop", timeout_ms=50))
        assert failure.value.code == "component_timeout"
        assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (b"(module)", "not WASM"),
        (b"\0asm\x01\0\0\0damaged", "does not load"),
        (bytes(wasmtime.wat2wasm("(module)")), "must export `_start`"),
        (
            bytes(
                wasmtime.wat2wasm('(module (memory (export "_start") 1) (func (export "memory")))')
            ),
            "must export `_start`",
        ),
        (
            bytes(
                wasmtime.wat2wasm(
                    '(module (import "env" "magic" (func)) (memory (export "memory") 1)'
                    ' (func (export "_start")))'
                )
            ),
            "unknown import",
        ),
        (bytes(wasmtime.wat2wasm("(component)")), "must export `invoke"),
        (
            bytes(wasmtime.wat2wasm('(component (import "other:one/two" (instance)))')),
            "must export `invoke",
        ),
    ],
)
async def test_what_does_not_compile_or_fit_is_an_error_at_load(
    sandbox: Sandbox, code: bytes, words: str
) -> None:
    """A pack with a component that cannot run is refused before a flow calls it."""
    with pytest.raises(InvalidPack, match=words) as failure:
        await Components.load(pack_of({"odd": ("wasm", code)}), sandbox)
    assert failure.value.context["problem"] == "invalid_component"
    assert failure.value.context["file"] == "components/odd.wasm"


async def test_other_tenants_are_served_while_one_misbehaves(sandbox: Sandbox) -> None:
    """Endless loops and sleepers of a tenant do not delay calls of another, nor the event loop."""
    names = ("loop", "sleep", "chat", "echo")
    pack = pack_of({name: ("wasm", PROGRAMS[name]) for name in names}, limits="timeout: 1500ms")
    async with loaded(pack, sandbox) as components:
        await components(call_of("echo", 1))
        bad = [
            asyncio.ensure_future(components(call_of(name, tenant="bad")))
            for name in ("loop", "sleep", "chat") * 4
        ]
        await asyncio.sleep(0)
        slowest = 0.0
        for number in range(20):
            started = time.monotonic()
            answer = await components(call_of("echo", number, tenant="good"))
            slowest = max(slowest, time.monotonic() - started)
            assert answer["input"] == number
        assert not any(task.done() and task.exception() is None for task in bad)
        assert slowest < 1.0
        outcomes = await asyncio.gather(*bad, return_exceptions=True)
    codes = {one.code for one in outcomes if isinstance(one, NodeFailed)}
    assert len(outcomes) == 12
    assert codes <= {"component_timeout", "component_busy"}
    assert "component_timeout" in codes


async def test_calls_at_the_same_time_do_not_mix(sandbox: Sandbox) -> None:
    """Each of many calls of many tenants gets its own input, answer and facts."""
    names = ("echo", "model.echo", "model.ask")
    components = await Components.load(
        pack_of({name: ("wasm", PROGRAMS[name]) for name in names}), sandbox
    )

    async def run(name: str, number: int) -> None:
        tenant, given = f"t{number % 16}", {"call": "log", "message": "x" * number}
        found = await components(call_of(name, given, tenant=tenant))
        if name == "echo":
            assert (found["input"], found["call"]["tenant"]) == (given, tenant)
        else:
            assert found == ({"ok": None} if name == "model.ask" else given)

    await asyncio.gather(*(run(name, number) for number in range(60) for name in names))


async def test_compiled_code_is_kept_on_disk_where_that_is_safe(tmp_path: Path) -> None:
    """A second host reads what the first compiled; damaged files are compiled again."""
    folder = tmp_path / "cache"
    pack = pack_of({"echo": ("wasm", wat.ECHO), "model": ("wasm", wat.ECHO_COMPONENT)})
    for content in (None, None, b"damaged"):
        files = list(folder.iterdir()) if folder.exists() else []
        if content is not None:
            for file in files:
                file.write_bytes(content)
        sandbox = Sandbox(SandboxSettings(cache=folder))
        async with loaded(pack, sandbox) as components:
            assert (await components(call_of("echo", 1)))["input"] == 1
            assert await components(call_of("model", 2)) == 2
        sandbox.close()
        assert len(list(folder.iterdir())) == 2
    folder.chmod(0o777)
    with pytest.raises(InvalidInput, match="no other user can write"):
        Sandbox(SandboxSettings(cache=folder))
