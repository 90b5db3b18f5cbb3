"""The Dockerfile and the compose file, without Docker: what they say is done by hand."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from packaging.requirements import Requirement

from holdfast.store.valkey.ports import free_port
from holdfast.testing.servers import start_server
from tests.support.http_servers import ROOT

ADMIN_KEY = "hf_" + "k" * 40
PORT = 8080


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return loaded


@pytest.fixture(scope="module")
def image() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile with their arguments, in order."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def told(image: list[tuple[str, str]], instruction: str) -> str:
    """Return the arguments of an instruction of the last stage."""
    last = max(place for place, (name, _) in enumerate(image) if name == "FROM")
    (found,) = [rest for name, rest in image[last:] if name == instruction]
    return found


def variables(image: list[tuple[str, str]]) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in shlex.split(told(image, "ENV")))


def test_what_is_copied_is_there(image: list[tuple[str, str]]) -> None:
    """And the context of the build has it; the secrets of a checkout are not in it."""
    ignored = (ROOT / ".dockerignore").read_text().split()
    copies = [rest.split() for name, rest in image if name == "COPY" and "--from" not in rest]
    for source in (source for *sources, _ in copies for source in sources):
        assert (ROOT / source).exists(), source
        assert not {source, f"!{source}", f"{source}/"} & set(ignored)
    assert {".git", ".venv"} <= {one.rstrip("/") for one in ignored}


def test_versions_are_those_of_the_lock(image: list[tuple[str, str]]) -> None:
    """The constraints that the build makes are the lines of the lock, without hashes."""
    (command,) = [rest for name, rest in image if name == "RUN" and "requirements.lock" in rest]
    filtering = shlex.split(command.partition(">")[0])
    filtered = subprocess.run(filtering, cwd=ROOT, capture_output=True, text=True, check=True)
    found = [Requirement(line) for line in filtered.stdout.splitlines()]
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    names = [one.name for one in found if one.marker is None or one.marker.evaluate()]
    assert len(found) == len([line for line in lines if re.match(r"\w", line)])
    assert len(names) == len({*names})
    assert {"starlette", "uvicorn", "msgspec", "uvloop", "opentelemetry-sdk"} <= {*names}


def test_it_runs_as_nobody_special(image: list[tuple[str, str]]) -> None:
    """Under a user that the image makes."""
    user = told(image, "USER")
    (made,) = [rest for name, rest in image if name == "RUN" and "useradd" in rest]
    assert user not in {"root", "0"}
    assert f" {user} " in made
    assert int(told(image, "EXPOSE")) == PORT
    assert told(image, "STOPSIGNAL") == "SIGTERM"


def test_the_store_of_the_compose_file_keeps_what_it_acknowledged(compose: dict[str, Any]) -> None:
    """Its options are known to the server; work is on a volume and synced."""
    store = compose["services"]["store"]
    _, *options = store["command"].split()
    with start_server(*options) as server, server.raw() as raw:
        assert raw.config_get("appendfsync")["appendfsync"] == "always"
        assert raw.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
    assert [volume.split(":")[0] for volume in store["volumes"]] == list(compose["volumes"])
    assert compose["services"]["server"]["depends_on"] == {
        "store": {"condition": "service_healthy"}
    }


async def test_the_server_of_the_compose_file(
    image: list[tuple[str, str]], compose: dict[str, Any], tmp_path: Path
) -> None:
    """Its command, variables and health check work: on every address, with the first key."""
    server, port = compose["services"]["server"], free_port()
    assert server["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    listen = variables(image)["HOLDFAST_LISTEN"]
    given = {**server["environment"], "HOLDFAST_LISTEN": listen.replace(str(PORT), str(port))}
    assert given["HOLDFAST_STORE"] == "valkey://store"
    assert given["HOLDFAST_ADMIN_KEY"].startswith("${HOLDFAST_ADMIN_KEY:?")
    command = [*json.loads(told(image, "ENTRYPOINT")), *json.loads(told(image, "CMD"))]
    assert command[0] == "holdfast"
    kind, *check = server["healthcheck"]["test"]
    assert (kind, check[0]) == ("CMD", "python")
    with start_server() as valkey:
        given |= {
            "HOLDFAST_STORE": f"valkey://127.0.0.1:{valkey.port}",
            "HOLDFAST_ADMIN_KEY": ADMIN_KEY,
        }
        environment = {**os.environ, "TMPDIR": str(tmp_path), **given}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "holdfast.cli", *command[1:]),
            cwd=tmp_path,
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(30):
                while await _run(*check[1:-1], check[-1].replace(str(PORT), str(port))):
                    assert process.returncode is None
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                assert (await client.get("/v1/keys")).status_code == 401
                client.headers["Authorization"] = f"Bearer {ADMIN_KEY}"
                assert (await client.get("/v1/keys")).status_code == 200
        finally:
            process.terminate()
        grace = float(server["stop_grace_period"].removesuffix("s"))
        assert await asyncio.wait_for(process.wait(), grace) == 0


async def _run(*args: str) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *args, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait()


def test_the_image_installs_extras_that_exist(image: list[tuple[str, str]]) -> None:
    """Pip only warns of an unknown one."""
    installed = [rest for name, rest in image if name == "RUN" and "pip install" in rest]
    (extras,) = re.findall(r'"\.\[([^]]*)\]"', " ".join(installed))
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= known["optional-dependencies"].keys()
