"""Python components: processes with limits, which are replaced when they fail."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator

import pytest

from holdfast.errors import InvalidPack
from holdfast.host.components import Components, Sandbox, SandboxSettings
from holdfast.host.flows.runners import Answer, NodeFailed
from holdfast.host.packs import Origin
from tests.support.components import call_of, loaded, pack_of

CODE = """
import os, resource, sys, time

calls = 0

def run(input, host):
    global calls
    calls += 1
    return {"input": input, "calls": calls, "pid": os.getpid(), "about": vars(host.call)}

def do_it(input, host):
    return "done"

def loop(input, host):
    while True:
        pass

def sleep(input, host):
    time.sleep(1000)

def nap(input, host):
    time.sleep(0.1)

def memory(input, host):
    return len(bytearray(10**9))

def leave(input, host):
    os._exit(3)

def stop(input, host):
    sys.exit(0)

def wrong(input, host):
    raise ValueError("hidden words")

def deep(input, host):
    return deep(input, host)

def large(input, host):
    return "x" * 10**6

def odd(input, host):
    return {1, 2}

def noise(input, host):
    print('{"output": "forged"}')
    os.write(1, b'{"output": "forged"}')
    return "real"

def say(input, host):
    host.emit(text="hello")
    host.log("a line")
    return 1

def refuse(input, host):
    host.fail("not_found", "no such order", retryable=True, retry_after_ms=50)

class Lost(Exception):
    code = "lost"
    retryable = True

def alone(input):
    if input == "lost":
        raise Lost("it is lost")
    return input

def core(input, host):
    return [resource.getrlimit(resource.RLIMIT_CORE)[0], len(os.listdir("/proc/self/fd")) < 10]

def environ(input, host):
    return sorted(os.environ)

def write(input, host):
    with open("/tmp/holdfast-too-large", "wb") as file:
        os.unlink("/tmp/holdfast-too-large")
        file.write(bytes(20 << 20))
"""
#: Enough for a function that ends, under load as well.
TIME_MS = 500
OPERATIONS = (
    "nap",
    "alone",
    *("run", "do-it", "loop", "sleep", "memory", "leave", "stop", "wrong", "deep", "large", "odd"),
    *("noise", "say", "refuse", "core", "environ", "write"),
)


@pytest.fixture(scope="module")
async def components(sandbox: Sandbox) -> AsyncIterator[Components]:
    """Return a Python component."""
    pack = pack_of({"py": ("python", CODE)}, operations=OPERATIONS)
    async with loaded(pack, sandbox) as made:
        yield made


async def test_a_function_gets_the_input_and_the_facts(components: Components) -> None:
    """The function of the operation runs in another process and returns JSON."""
    answer = await components(call_of("py", {"ä": 1}))
    assert answer["input"] == {"ä": 1}
    assert answer["pid"] != os.getpid()
    assert answer["about"]["idempotency_key"] == "e1/1.main.find"
    assert await components(call_of("py", operation="do-it")) == "done"


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("loop", "component_timeout"),
        ("sleep", "component_timeout"),
        ("memory", "component_memory"),
        ("leave", "component_trapped"),
        ("stop", "component_failed"),
        ("wrong", "component_failed"),
        ("deep", "component_stack_overflow"),
        ("large", "component_output_too_large"),
        ("odd", "component_failed"),
        ("write", "component_failed"),
        ("nothing", "unknown_operation"),
    ],
)
async def test_each_misbehaviour_has_its_own_error(
    components: Components, operation: str, code: str
) -> None:
    """The call fails with a code that says why, without the words of the code's errors."""
    with pytest.raises(NodeFailed) as failure:
        await components(call_of("py", operation=operation, timeout_ms=TIME_MS))
    assert failure.value.code == code
    assert "hidden" not in str(failure.value)
    assert (await components(call_of("py", 1)))["input"] == 1


async def test_a_process_that_timed_out_is_killed_and_replaced() -> None:
    """The next call runs in another process."""
    sandbox = Sandbox(SandboxSettings(processes=1))
    pack = pack_of({"py": ("python", CODE)}, operations=("run", "loop", "wrong"))
    async with loaded(pack, sandbox) as components:
        first = await components(call_of("py"))
        with pytest.raises(NodeFailed):
            await components(call_of("py", operation="wrong"))
        assert (await components(call_of("py")))["pid"] == first["pid"]
        with pytest.raises(NodeFailed):
            await components(call_of("py", operation="loop", timeout_ms=TIME_MS))
        assert (await components(call_of("py")))["pid"] != first["pid"]
        with pytest.raises(ProcessLookupError):
            os.kill(first["pid"], 0)
    sandbox.close()


async def test_what_the_code_prints_is_no_answer(components: Components) -> None:
    """Only the value that the function returns is the output."""
    assert await components(call_of("py", operation="noise")) == "real"


async def test_a_component_replies_and_fails_in_its_own_words(components: Components) -> None:
    """`emit` adds replies to the output; `fail` gives a code that flows can route by."""
    answer = await components(call_of("py", operation="say"))
    assert isinstance(answer, Answer)
    assert (answer.value, answer.replies) == (1, [{"text": "hello"}])
    with pytest.raises(NodeFailed, match="no such order") as failure:
        await components(call_of("py", operation="refuse"))
    assert failure.value.code == "not_found"
    assert failure.value.retryable
    assert failure.value.retry_after_ms == 50
    assert await components(call_of("py", 5, operation="alone")) == 5
    with pytest.raises(NodeFailed, match="it is lost") as failure:
        await components(call_of("py", "lost", operation="alone"))
    assert (failure.value.code, failure.value.retryable) == ("lost", True)


async def test_a_process_has_a_clean_environment_and_no_core(
    components: Components, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the host's environment or files reaches the code."""
    monkeypatch.setenv("HOLDFAST_TEST_SECRET", "hidden")
    assert await components(call_of("py", operation="core")) == [0, True]
    with pytest.raises(NodeFailed):
        await components(call_of("py", operation="leave"))
    names = await components(call_of("py", operation="environ"))
    assert set(names) <= {"LANG", "LC_CTYPE", "PATH"}


async def test_a_call_that_is_cancelled_ends_its_process(sandbox: Sandbox) -> None:
    """A caller that leaves does not leave a process behind."""
    pack = pack_of({"py": ("python", CODE)}, operations=("run", "sleep"))
    async with loaded(pack, sandbox) as components:
        pid = (await components(call_of("py")))["pid"]
        task = asyncio.ensure_future(components(call_of("py", operation="sleep")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await components(call_of("py")))["pid"] != pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_components_that_close_end_calls_under_way(sandbox: Sandbox) -> None:
    """A host that stops leaves no process behind."""
    pack = pack_of({"py": ("python", CODE)}, operations=("run", "sleep"))
    components = await Components.load(pack, sandbox)
    pid = (await components(call_of("py")))["pid"]
    task = asyncio.ensure_future(components(call_of("py", operation="sleep")))
    await asyncio.sleep(0)
    await components.close()
    with pytest.raises(NodeFailed) as failure:
        await task
    assert failure.value.code == "component_trapped"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_other_tenants_are_served_while_one_misbehaves(components: Components) -> None:
    """However many calls of one tenant sleep, another one finds a process."""
    naps = (components(call_of("py", operation="nap", tenant=tenant)) for tenant in "abc")
    await asyncio.gather(*naps)  # Now there are three processes.
    bad = [
        asyncio.ensure_future(
            components(call_of("py", operation="sleep", tenant="bad", timeout_ms=1_200))
        )
        for _ in range(6)
    ]
    await asyncio.sleep(0)
    started = time.monotonic()
    assert (await components(call_of("py", 2, tenant="good")))["input"] == 2
    assert time.monotonic() - started < 1
    outcomes = await asyncio.gather(*bad, return_exceptions=True)
    codes = {one.code for one in outcomes if isinstance(one, NodeFailed)}
    assert codes <= {"component_timeout", "component_busy"}
    assert len(outcomes) == 6


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def run(:", "SyntaxError"),
        ("import nothing_like_that", "ModuleNotFoundError"),
        ("def other(input, host): pass", "no function `run`"),
        ("import os; os._exit(1)", "ended while it loaded"),
    ],
)
async def test_code_that_does_not_load_is_an_error_at_load(
    sandbox: Sandbox, code: str, words: str
) -> None:
    """A pack with code that cannot run is refused before a flow calls it."""
    with pytest.raises(InvalidPack, match=words) as failure:
        await Components.load(pack_of({"odd": ("python", code)}), sandbox)
    assert failure.value.context["problem"] == "invalid_component"


async def test_python_runs_from_trusted_packs_only(sandbox: Sandbox) -> None:
    """Without a trusted signature, Python is refused, unless the caller trusts the pack."""
    for origin in (Origin.UNSIGNED, Origin.UNTRUSTED):
        pack = pack_of({"py": ("python", "def run(input, host): return 1")}, origin=origin)
        with pytest.raises(InvalidPack) as failure:
            await Components.load(pack, sandbox)
        assert failure.value.context["problem"] == "untrusted_component"
    components = await Components.load(pack, sandbox, trusted=True)
    assert await components(call_of("py")) == 1
    await components.close()
