"""Deployments over HTTP: the story of a release, near and far, and whose things they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.client import Client
from holdfast.errors import (
    DeploymentNotFound,
    Forbidden,
    InvalidPack,
    NotOverHttp,
    PackNotFound,
    StaleGeneration,
)
from holdfast.host import packs
from holdfast.model.api_keys import id_of
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.revisions import Gate, Lifecycle
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.samples import ARCHIVE
from tests.server.test_far_commands import Far, far
from tests.support.packs import files_of, write_folder

__all__ = ["far"]

PASSED = [Gate(name="loads", passed=True)]


async def test_a_release_over_http(site: Site) -> None:
    """As the contract has it: upload, deploy, stage, warm, split, roll back, drain, archive."""
    async with site.client(await site.key(tenant=None)) as http:

        async def call(method: str, path: str, body: object = None, status: int = 200) -> dict:  # type: ignore[type-arg]
            response = await http.request(method, path, json=body)
            assert response.status_code == status, response.text
            return response.json()  # type: ignore[no-any-return]

        uploaded = await http.post("/v1/packs", content=ARCHIVE)
        assert uploaded.status_code == 201
        pack = uploaded.json()
        assert (pack["id"], pack["version"]) == ("support", "1.2.0")
        one = "/v1/envs/local/deployments/chat"
        new = {"id": "chat", "tenant": "acme", "pack": "support"}
        assert (await call("POST", "/v1/envs/local/deployments", new, 201))["id"] == "chat"
        for revision in ("blue", "green"):
            body = {"digest": pack["digest"], "id": revision}
            staged = await call("POST", f"{one}/revisions", body, 201)
            assert (staged["id"], staged["lifecycle"]) == (revision, "staged")
            warming = await call("POST", f"{one}/revisions/{revision}/warm")
            gates = [{"name": "loads", "passed": True}]
            body = {"gates": gates, "seen": warming["version"]}
            ready = await call("POST", f"{one}/revisions/{revision}/judge", body)
            assert ready["lifecycle"] == "ready"
        for generation, revision in enumerate(("blue", "green")):
            entries = [{"revision": revision, "weight_bps": 10_000}]
            body = {
                "entries": entries,
                "expected_generation": generation,
                "idempotency_key": revision,
            }
            for _ in range(2):
                split = await call("PUT", f"{one}/split", body)
                assert split["generation"] == generation + 1
        assert (await call("POST", f"{one}/rollback", {}))["generation"] == 3
        drained = await call("POST", f"{one}/revisions/green/drain", {"deadline_ms": 1_000})
        assert drained["lifecycle"] == "inactive"
        await call("POST", f"{one}/revisions/green/archive")
        found = await call("GET", one)
        assert found["split"]["generation"] == 3
        assert [
            (r["id"], r["lifecycle"], r["running"], r["waiting"]) for r in found["revisions"]
        ] == [
            ("blue", "ready", 0, 0),
            ("green", "archived", 0, 0),
        ]
        events = (await call("GET", f"{one}/events?limit=1"))["items"]
        key = id_of(http.headers["authorization"].removeprefix("Bearer "))
        assert [(event["event"], event["by"]) for event in events] == [("archived", key)]


async def test_near_and_far_are_the_same(site: Site) -> None:
    """Every value, and every error."""
    near = site.engine
    async with Client(site.url, key=await site.key(tenant=None)) as far_side:
        env, created = await far_side.envs.put("prod", unsigned_packs=True)
        assert (created, await near.envs.get("prod")) == (True, env)
        assert await far_side.envs.list() == await near.envs.list()
        assert await far_side.envs.get("prod") == env
        upload = packs.upload_of(ARCHIVE)
        pack, created = await far_side.packs.put(upload, tenant="acme")
        assert created
        assert await far_side.packs.list("acme") == ([pack], None)
        assert await near.packs.archive(pack.archive) == ARCHIVE
        new = NewDeployment(env="prod", id="chat", tenant="acme", pack="support", hosts=("a.b",))
        made, created = await far_side.deployments.create(new)
        assert (created, await far_side.deployments.create(new)) == (True, (made, False))
        ref = made.ref
        revision, _ = await far_side.deployments.stage(
            ref, digest=upload.digest, config={"greeting": "Hello"}
        )
        warming = await far_side.deployments.warm(ref, revision.id)
        ready = await far_side.deployments.judge(ref, revision.id, PASSED, seen=warming.version)
        assert (ready.lifecycle, ready.gates) == (Lifecycle.READY, tuple(PASSED))
        entries = [SplitEntry(revision=revision.id, weight_bps=10_000)]
        split = await far_side.deployments.set_split(ref, entries, expected_generation=0)
        with pytest.raises(StaleGeneration) as raised:
            await far_side.deployments.set_split(ref, entries, expected_generation=3)
        assert raised.value.context["generation"] == split.generation == 1
        rolled = await far_side.deployments.rollback(ref, to_generation=1)
        assert rolled.generation == 1
        await near.submit("k", tenant="acme", requires=(f"rev:{revision.id}",), lane="nobody")
        (listed,) = (await far_side.deployments.list("prod")).items
        assert [one.running for one in listed.revisions] == [1]
        forecast = await far_side.deployments.forecast(ref, revision.id)
        assert (forecast.running, forecast.ends_at) == (1, None)
        assert forecast.sentence == (await near.deployments.forecast(ref, revision.id)).sentence
        anybody = DeploymentRef(env="prod", id="chat")
        for named in (ref, anybody):
            assert await far_side.deployments.get(named) == await near.deployments.get(named)
        other, _ = await far_side.deployments.stage(ref, digest=upload.digest)
        assert (await far_side.deployments.archive(ref, other.id)).lifecycle is Lifecycle.ARCHIVED
        assert await far_side.deployments.list("prod") == await near.deployments.list("prod")
        assert await far_side.deployments.events(ref) == await near.deployments.events(ref)
        for session in ("nobody", "~?"):
            explained = await far_side.deployments.explain(ref, session)
            assert explained == await near.deployments.explain(ref, session)
            assert (explained.revision, explained.reason) == (revision.id, "weights")
        with pytest.raises(NotOverHttp):
            far_side.deployments.watch("prod")
        with pytest.raises(NotOverHttp):
            await far_side.packs.archive(pack.archive)


async def test_a_tenant_sees_and_stages_its_own_things(site: Site) -> None:
    """Packs, deployments and revisions of others are not there."""
    async with (
        Client(site.url, key=await site.key(tenant=OURS)) as ours,
        Client(site.url, key=await site.key(tenant=THEIRS)) as theirs,
    ):
        upload = packs.upload_of(ARCHIVE)
        await ours.packs.put(upload)
        new = {"env": "local", "id": "chat", "pack": "support"}
        made, _ = await ours.deployments.create(NewDeployment(tenant=OURS, **new))  # type: ignore[arg-type]
        ref = DeploymentRef(env="local", id="chat")
        revision, _ = await ours.deployments.stage(ref, digest=upload.digest)
        assert (await theirs.packs.list(), (await theirs.deployments.list("local")).items) == (
            ([], None),
            (),
        )
        with pytest.raises(DeploymentNotFound):
            await theirs.deployments.get(ref)
        with pytest.raises(Forbidden):
            await theirs.deployments.get(made.ref)
        await theirs.deployments.create(NewDeployment(tenant=THEIRS, **new))  # type: ignore[arg-type]
        with pytest.raises(PackNotFound):
            await theirs.deployments.stage(ref, digest=upload.digest)
        assert (await ours.deployments.get(ref)).tenant == OURS
        assert (await ours.deployments.warm(ref, revision.id)).lifecycle is Lifecycle.WARMING


async def test_an_unsafe_archive_is_refused(site: Site) -> None:
    """The server reads it itself, whatever the client says of it."""
    async with site.client(await site.key()) as http:
        response = await http.post("/v1/packs", content=ARCHIVE[:100])
        problem = response.json()
    assert (response.status_code, problem["code"]) == (422, InvalidPack.code)
    assert problem["problem"]


async def test_commands_about_deployments(far: Far, tmp_path: Path) -> None:
    """One release, command by command."""
    folder = write_folder(tmp_path, files_of())
    deploy = ("deploy", str(folder), "--tenant", "acme", "--wait", "1s")
    deployed = await far(*deploy, "--no-shift")
    assert (deployed["deployment"], deployed["lifecycle"]) == ("support", "warming")
    first = deployed["revision"]
    assert (await far("revisions", "ready", "support", first))["lifecycle"] == "ready"
    assert (await far("split", "set", "support", f"{first}=100"))["generation"] == 1
    shifted = await far(*deploy)
    assert (shifted["revision"], shifted["generation"]) == (first, 1)
    (folder / "README.md").write_text("changed")
    # No host has loaded it, so new sessions stay where they are.
    second = (await far(*deploy, code=1))["revision"]
    assert (await far("revisions", "ready", "support", second))["lifecycle"] == "ready"
    shares = (f"{first}=99.5", f"{second}=0.5")
    assert (await far("split", "set", "support", *shares))["generation"] == 2
    wrong = await far("split", "set", "support", f"{first}=99", code=2)
    assert wrong["error"]["code"] == "invalid_input"
    assert (await far("split", "rollback", "support", "--to", "1"))["generation"] == 3
    assert (await far("split", "show", "support"))["split"]["generation"] == 3
    drained = await far("drain", "support", second, "--deadline", "1h")
    assert (drained["lifecycle"], drained["forecast"]["sentence"]) == (
        "inactive",
        "nothing needs it",
    )
    shown = await far("revisions", "show", "support", second)
    assert shown["forecast"]["ends_at"] is None
    assert (await far("revisions", "archive", "support", second))["lifecycle"] == "archived"
    items = (await far("revisions", "ls", "support"))["items"]
    assert [item["lifecycle"] for item in items] == ["ready", "archived"]
    assert (await far("deployments", "show", "support"))["tenant"] == "acme"
    assert [one["id"] for one in (await far("deployments"))["items"]] == ["support"]
    assert (await far("deployments", "events", "support"))["items"][0]["event"] == "archived"
    made = await far("deployments", "create", "talk", "--app", "talk", "--host", "a.example")
    assert made["hosts"] == ["a.example"]
    assert (await far("revisions", "stage", "talk", "--config", '{"a": 1}'))["config"] == {"a": 1}
    assert (await far("revisions", "warm", "support", "nothing", code=3))["error"]["code"] == (
        "revision_not_found"
    )
    assert (await far("env", "put", "prod", "--unsigned-packs"))["unsigned_packs"]
    assert [env["name"] for env in (await far("env"))["items"]] == ["local", "prod"]
    assert (await far("env", "show", "prod"))["trust"] == []
