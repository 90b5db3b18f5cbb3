"""`holdfast server` and `holdfast keys` as people use them."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from pathlib import Path

import httpx
import pytest

from tests.acceptance.processes import python
from tests.support.http_servers import server_process

pytestmark = pytest.mark.timeout(90)


def holdfast(folder: Path, *args: str) -> tuple[int, str, str]:
    done = python("-m", "holdfast.cli", *args, folder=folder)
    return done.returncode, done.stdout, done.stderr


async def test_a_server_and_its_keys(tmp_path: Path) -> None:
    """Made, used, listed and revoked; the secret is shown once; a clean end on SIGTERM."""
    store = f"embedded://{tmp_path / 'store'}"
    async with server_process(store, tmp_path) as (url, process):
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            assert (await client.get("/v1/lanes")).status_code == 200
            code, secret, remark = await asyncio.to_thread(
                holdfast, tmp_path, "keys", "create", "--role", "admin", "--store", store
            )
            assert (code, secret.startswith("hf_")) == (0, True)
            assert "not shown again" in remark
            headers = {"Authorization": f"Bearer {secret.strip()}"}
            assert (await client.get("/v1/keys", headers=headers)).status_code == 200
            code, listed, _ = await asyncio.to_thread(
                holdfast, tmp_path, "keys", "--json", "--store", store
            )
            (key,) = json.loads(listed)["items"]
            assert (key["roles"], key["tenant"]) == (["admin"], None)
            assert secret.strip() not in listed
            code, table, _ = await asyncio.to_thread(holdfast, tmp_path, "keys", "--store", store)
            assert re.search(r"all +admin +redacted +\d+ s ago", table)
            code, said, _ = await asyncio.to_thread(
                holdfast, tmp_path, "keys", "revoke", key["id"], "--store", store
            )
            assert (code, said) == (0, f"key {key['id']} is revoked\n")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 20) == 0


async def test_commands_work_far_from_the_store(tmp_path: Path) -> None:
    """With the URL of a server in place of a store's, and the key from the environment."""
    async with server_process(f"embedded://{tmp_path / 'store'}", tmp_path) as (url, _):

        async def run(*args: str) -> tuple[int, str, str]:
            return await asyncio.to_thread(holdfast, tmp_path, *args, "--store", url)

        code, submitted, _ = await run("submit", "greet", "--input", '{"name": "Ada"}', "--json")
        assert code == 0
        execution = json.loads(submitted)["id"]
        code, listed, _ = await run("ls", "--json")
        assert [item["id"] for item in json.loads(listed)["items"]] == [execution]
        code, _, _ = await run("cancel", execution, "--reason", "enough")
        assert code == 0
        code, _, problem = await run("cancel", execution)
        assert (code, "already_terminal" in problem) == (1, True)
        code, shown, _ = await run("show", execution)
        assert (code, "enough" in shown) == (0, True)


def test_a_public_address_without_a_key_is_refused(tmp_path: Path) -> None:
    """In one line that says what to do."""
    store = f"embedded://{tmp_path / 'store'}"
    code, _, problem = holdfast(
        tmp_path, "server", "--listen", "0.0.0.0:0", "--store", store, "--log-level", "error"
    )
    assert code == 4
    assert "holdfast keys create --role admin" in problem.splitlines()[-1]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--listen", "nowhere"], "HOST:PORT"),
        (["--roles", "cook"], "roles"),
        (["--tls-cert", "c.pem"], "certificate"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, args: list[str], told: str) -> None:
    """Before the store is opened."""
    code, _, problem = holdfast(tmp_path, "server", *args)
    assert (code, told in problem) == (2, True), problem
    assert not (tmp_path / ".holdfast").exists()


def test_an_unknown_role_is_refused(tmp_path: Path) -> None:
    """With those that there are."""
    code, _, problem = holdfast(tmp_path, "keys", "create", "--role", "cook")
    assert code == 2
    assert "viewer" in problem
