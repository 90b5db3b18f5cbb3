"""Commands of operators with the URL of a server: keys, rules, writer leases, the archive."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from holdfast.archive import Archiver, open_archive, set_archive
from holdfast.cli.main import run
from holdfast.model.api_keys import id_of
from holdfast.testing.clock import Clock
from tests.server.conftest import Site
from tests.support.archives import end_retention, live


class Far:
    """The command line, far from the store."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __call__(self, *args: str, code: int = 0) -> Any:
        """Run a command and expect its exit code; returns what it says."""
        out, err = io.StringIO(), io.StringIO()

        def go() -> int:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                return run([*args, "--json", "--store", self._url])

        assert await asyncio.to_thread(go) == code, err.getvalue()
        return json.loads(out.getvalue() or err.getvalue())


@pytest.fixture
async def far(site: Site, monkeypatch: pytest.MonkeyPatch) -> Far:
    """With an operator key, as it is taken from the environment."""
    monkeypatch.setenv("HOLDFAST_KEY", await site.key(tenant=None))
    return Far(site.url)


async def test_keys(far: Far, site: Site) -> None:
    """The secret is shown once, and is good."""
    made = await far("keys", "create", "--role", "viewer", "--tenant", "acme", "--ttl", "1d")
    found = await site.engine.api_keys.get(id_of(made.pop("secret")))
    assert found.key is not None
    assert (found.key.id, found.key.tenant) == (made["id"], "acme")
    assert (await far("keys", "ls", "--tenant", "acme"))["items"] == [made]
    await far("keys", "revoke", made["id"])
    assert (await far("keys", "revoke", "none", code=3))["error"]["code"] == "key_not_found"
    (listed,) = (await far("keys", "--tenant", "acme"))["items"]
    assert listed["revoked_at"] is not None


async def test_rules(far: Far, site: Site) -> None:
    """Of budgets and of quotas."""
    await site.engine.budgets.create("b", limits={"tokens": {"hard": 10}})
    await site.engine.quotas.create("q", max_concurrent=1)
    for noun, limit in (("budgets", "b"), ("quotas", "q")):
        await far(noun, "attach", limit, "--kind", "mail.send")
        (rule,) = (await far(noun, "rules"))["items"]
        assert (rule["id"], rule["subject"], rule["value"]) == (limit, "kind", "mail.send")
        await far(noun, "detach", limit, "--kind", "mail.send")
        assert (await far(noun, "rules"))["items"] == []
        await far(noun, "attach", "none", "--lane", "default", code=3)


async def test_writer_leases(far: Far) -> None:
    """Taken, shown, handed over, given up."""
    key = "reports/main"
    lease = await far("writer-lease", "acquire", key, "--holder", "a", "--ttl", "30s")
    held = await far("writer-lease", "acquire", key, "--holder", "b", code=1)
    assert held["error"]["code"] == "held"
    own = ("--holder", "a", "--incarnation", lease["incarnation"], "--token", "1.1")
    await far("writer-lease", "hand-over", key, "b", *own)
    lease = await far("writer-lease", "acquire", key, "--holder", "b")
    own = ("--holder", "b", "--incarnation", lease["incarnation"], "--token", "1.2")
    await far("writer-lease", "release", key, *own)
    shown = await far("writer-lease", "show", key)
    assert (shown["released"], shown["holders"][0]["ended"]) == (True, "handed_over")
    await far("writer-lease", "show", "never/held", code=3)
    nothing = await far("writer-lease", "repair", key, "--token", "1.7", code=1)
    assert nothing["error"]["code"] == "version_conflict"


async def test_the_archive(far: Far, site: Site, clock: Clock, tmp_path: Path) -> None:
    """Looked at, taken out; what changes it is done where the store is."""
    store = site.engine.store
    assert (await far("archive", "status"))["archive"] is None
    for verb in (
        ["enable", "file:///tmp/x"],
        ["disable"],
        ["forget", "file:///tmp/x", "--yes"],
        ["run"],
        ["verify"],
    ):
        refused = await far("archive", *verb, code=2)
        assert refused["error"]["code"] == "not_over_http"
    await set_archive(store, str(tmp_path / "archive"))
    ids = [await live(store, clock, number, input=b"{}") for number in range(4)]
    await far("archive", "export", ids[1], str(tmp_path / "live.json"))
    await end_retention(store, clock)
    await Archiver(store, (await open_archive(store)).objects).run_once()
    found = await far("archive", "status")
    assert (found["waiting"], found["archive"]["executions"]) == (0, 4)
    listed = (await far("ls", "--archived", "--limit", "3"))["items"]
    assert [item["id"] for item in listed] == ids[:0:-1]
    shown = await far("show", ids[1])
    assert (shown["archived"], shown["result"]) == (True, 1)
    await far("archive", "export", ids[1], str(tmp_path / "archived.json"))
    files = [json.loads((tmp_path / f"{one}.json").read_bytes()) for one in ("live", "archived")]
    assert files[0]["sections"]["steps"] == files[1]["sections"]["steps"]
    await far("archive", "parquet", str(tmp_path / "all.parquet"))
    assert set(pq.read_table(tmp_path / "all.parquet")["id"].to_pylist()) == set(ids)
