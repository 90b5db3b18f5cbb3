"""Packs that would end the host while they load."""

from __future__ import annotations

import sys

import pytest

from holdfast.engine import open_engine
from holdfast.errors import InvalidPack
from holdfast.host import packs
from holdfast.host.host import Host
from holdfast.host.trials import SMALL_BYTES, Trials
from holdfast.model.revisions import Lifecycle
from tests.support.hosting import reached, shop, stage
from tests.support.packs import pack_of

#: Too large to be loaded without a trial.
PADDING = b"x" * SMALL_BYTES
FLOW = b"id: main\nnodes: {a: {emit: {text: hi}}}\n"


def archive(flow: bytes = FLOW, padding: bytes = PADDING) -> bytes:
    """Return the archive of a pack."""
    files = {"pack.yaml": b"id: shop\nversion: 1.0.0\n", "flows/main.yaml": flow}
    return packs.build(pack_of({**files, "README.md": padding}))


def dying(code: str) -> list[str]:
    """A program that reads a pack and then runs code."""
    return [sys.executable, "-c", f"import os, sys; sys.stdin.buffer.read(); {code}"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os.abort()", r"ends the process that loads it \(SIGABRT\)"),
        ("sys.exit(7)", r"\(with the exit code 7\)"),
        ("sys.exit(3)", "more than 1024 MB of memory"),
        ("os.kill(os.getpid(), 9)", "longer than 20 s"),
        ("import threading; threading.Event().wait()", "longer than 0.2 s"),
    ],
)
async def test_a_pack_that_ends_its_process_is_refused(code: str, reason: str) -> None:
    """With a sentence that says how."""
    wall_s = 0.2 if "Event" in code else 30.0
    trials = Trials(program=dying(code), wall_s=wall_s)
    with pytest.raises(InvalidPack, match=reason):
        await trials.check(("a",), [archive()])


async def test_a_trial_has_bounds_and_is_made_once() -> None:
    """A flow with as many nodes as there may be needs more than a little memory."""
    items = b",".join(b"%d" % number for number in range(40_000))
    large = archive(b"id: main\nvars: {list: {default: [" + items + b"]}}\n" + FLOW[9:])
    bounded = Trials(memory_mb=60)
    with pytest.raises(InvalidPack, match="60 MB"):
        await bounded.check(("a",), [large])
    trials = Trials()
    await trials.check(("a",), [large])
    trials._program = dying("os.abort()")
    await trials.check(("a",), [large])


async def test_small_packs_without_code_and_damaged_ones_need_no_trial() -> None:
    """The reader bounds the first and refuses the second."""
    trials = Trials(program=dying("os.abort()"))
    await trials.check(("a",), [archive(padding=b"")])
    await trials.check(("b",), [b"damaged"])


async def test_the_gate_says_why_and_the_host_serves_others(real_url: str) -> None:
    """A revision that ends its process fails; sound ones are loaded."""
    async with open_engine(real_url) as engine:
        host = Host(engine, trials=Trials(program=dying("os.abort()")))
        async with host.running():
            await stage(engine, "bad", packs.upload_of(archive()))
            bad = await reached(engine, "bad", Lifecycle.FAILED)
            (gate,) = bad.gates
            assert (gate.name, gate.passed) == ("loads", False)
            assert "SIGABRT" in gate.reason
            await stage(engine, "good", shop("A"))
            await reached(engine, "good", Lifecycle.READY)
            assert host.loaded == ("good",)
