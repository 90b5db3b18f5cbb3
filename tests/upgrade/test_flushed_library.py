"""After FUNCTION FLUSH, a process of the version before may be the first to load its library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import valkey

from holdfast.engine import Engine, open_engine
from holdfast.store.valkey import library
from holdfast.store.verify.checking import violations
from holdfast.testing.servers import start_server
from tests.chaos.seeded.clock import StoreClock
from tests.support.dump import dump_keys
from tests.upgrade.clients import SETTINGS
from tests.upgrade.trees import PREVIOUS, environment_of, tree_of

pytestmark = pytest.mark.timeout(120)

_COMPOSE = (
    "from holdfast.store.valkey import library; print(library.load(fake_clock=True).code, end='')"
)
_CLAIM = ("request", "worker", "10", "5000", "", "default", "", "")


@pytest.fixture
def older(tmp_path: Path) -> str:
    """The library of the version before."""
    tree = tree_of(PREVIOUS, tmp_path)
    command = [sys.executable, "-c", _COMPOSE]
    made = subprocess.run(command, env=environment_of(tree), capture_output=True, check=True)
    return made.stdout.decode()


async def test_an_older_library_is_replaced_and_what_it_broke_off_goes_on(older: str) -> None:
    """Its claim leases one execution and fails at the next, which it cannot read; both complete."""
    with start_server() as server, server.raw() as raw:
        url = f"valkey://127.0.0.1:{server.port}?prefix=hf"
        async with open_engine(url, SETTINGS, maintenance=False) as engine:
            tag = next(iter(engine.store.tags()))
            await engine.submit("work", id="first", priority=5, check=False)
            await engine.submit("work", id="second", check=False)
            raw.function_flush()
            raw.function_load(older)
            with pytest.raises(valkey.ResponseError, match="WRONGTYPE"):
                raw.fcall("hf_execution_claim_many", 1, tag, *_CLAIM)
            assert "index timers lacks the entry x:first" in str(
                violations(dump_keys([server], "hf"))
            )

            assert (await engine.describe("second")).id == "second"
            marker = library.load(fake_clock=True).marker
            assert raw.fcall_ro(marker, 0) == library.load().release
            await _complete(engine, "second")
            clock = StoreClock(engine.store, [])
            await clock.jump(6_000)
            await clock.tick()
            await _complete(engine, "first")
        assert violations(dump_keys([server], "hf")) == []


async def _complete(engine: Engine, execution_id: str) -> None:
    """Claim what is ready, which is this one alone, and complete it."""
    async with engine.claimer(worker="w") as claimer:
        claims = await claimer.claim(10, 5_000)
    assert [claim.id for claim in claims] == [execution_id]
    await engine.complete(execution_id, claims[0].lease, b"1")
