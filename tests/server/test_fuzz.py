"""schemathesis against the OpenAPI document: no failure of ours, nothing undocumented."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import httpx
import pytest

from holdfast.engine import open_engine
from holdfast.server.routes import all_routes
from holdfast.testing.servers import TestServer
from tests.server.fuzz_things import things_of
from tests.support.http_servers import ROOT, server_process

#: All checks but these. Fields that exclude each other, names of what must exist and the like are
#: refused with 422 and in no schema; our calls change each other's things, also those that the
#: fuzzer made; and a batch answers for each item, a wrong one is no reason to refuse the others.
CONFIGURATION = """
[checks]
positive_data_acceptance.enabled = false
use_after_free.enabled = false
ensure_resource_availability.enabled = false

[[operations]]
include-path-regex = ":batch$"
checks.negative_data_rejection.enabled = false
"""


@pytest.mark.timeout(150)
async def test_whatever_is_sent_the_answer_is_a_documented_one(
    real_server: TestServer, tmp_path: Path
) -> None:
    """Valid and invalid bodies, parameters, headers and methods on every route.

    Live streams are short ones, so that they end. An error has a code that its route declares.
    """
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=fuzz"
    async with open_engine(store, maintenance=False) as engine:
        key, secret = await engine.api_keys.create(roles=["admin"])
        things = {
            f"{route.method} {route.path}": await things_of(route, engine) for route in all_routes()
        }
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    (tmp_path / "things.json").write_text(json.dumps(things))
    async with server_process(store, tmp_path, "--rate", "0", "--tail-life", "50ms") as (url, _):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"),
            *("-H", f"Authorization: Bearer {secret}"),
            *("--phases", "examples,fuzzing", "--max-examples", "4", "--no-shrink"),
            *("--workers", "2"),
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "SCHEMATHESIS_HOOKS": "tests.server.fuzz_hooks",
                "FUZZ_THINGS": str(tmp_path / "things.json"),
                "FUZZ_KEY": key.id,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {secret}"}) as client:
            # Otherwise it fuzzed nothing but the answer to a revoked key.
            assert (await client.get(f"{url}/v1/keys")).status_code == 200
    report = output.decode()
    assert process.returncode == 0, report[-60_000:]
    tested = re.search(r"Tested: (\d+)", report)
    assert tested is not None
    # All but the document itself, where the fuzzer has it from.
    assert int(tested[1]) == len(things) - 1, report[-2_000:]
    assert "Traceback" not in (tmp_path / "server.log").read_text()
