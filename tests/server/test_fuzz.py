"""schemathesis against the OpenAPI document: no failure of ours, nothing undocumented."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from holdfast.engine import open_engine
from holdfast.model.executions import NewExecution
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.testing.servers import TestServer
from tests.support.http_servers import ROOT, server_process

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
)
#: Live streams do not end, and the fuzzer waits for ends.
LIVE = "(events|stream)$"


@pytest.mark.timeout(150)
async def test_whatever_is_sent_the_answer_is_a_documented_one(
    real_server: TestServer, tmp_path: Path
) -> None:
    """Valid and invalid bodies, parameters, headers and methods on every route."""
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=fuzz"
    async with open_engine(store, maintenance=False) as engine:
        _, secret = await engine.access.create(roles=["admin"])
        execution = await engine.submit("work")
        async with engine.claimer(worker="w") as claimer:
            (claim,) = await claimer.claim(1, 600_000)
        point = NewWaitpoint(name="mail")
        await engine.waitpoints.prepare(execution.id, claim.lease, [point])
        graph = await engine.graphs.submit({"a": NewExecution(kind="work", lane="none")})
    async with server_process(store, tmp_path, "--rate", "0") as (url, _):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"),
            *("-H", f"Authorization: Bearer {secret}", "--exclude-path-regex", LIVE),
            *("--phases", "examples,fuzzing", "--max-examples", "4", "--no-shrink"),
            *("--checks", ",".join(CHECKS), "--workers", "2"),
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "SCHEMATHESIS_HOOKS": "tests.server.fuzz_hooks",
                "FUZZ_EXECUTION": execution.id,
                "FUZZ_GRAPH": graph.id,
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    report = output.decode()
    assert process.returncode == 0, report[-6_000:]
    tested = re.search(r"Tested: (\d+)", report)
    assert tested is not None
    assert int(tested[1]) >= 40, report[-2_000:]
    assert "Traceback" not in (tmp_path / "server.log").read_text()
