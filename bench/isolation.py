"""Isolation: what a bad pack of one tenant does to the turns of others, on the same two hosts.

The answer is a ratio: the 95th percentile of the others' turns beside the bad pack, over that
beside a sound pack with the same users, in the same run on the same processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from statistics import median, quantiles

from holdfast.engine import Engine, open_engine
from holdfast.host import packs
from holdfast.host.packs import Pack, manifest, reader
from holdfast.host.packs.signatures import Origin, Verdict
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.packs import PackUpload
from holdfast.model.revisions import Lifecycle
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server

GOOD = """\
id: main
nodes:
  hello: {emit: {text: "name?"}, out: name}
  name: {wait: {}, out: bye}
  bye: {emit: {text: "bye {{ input.text }}"}, out: end}
"""
#: Fails at its first node, for every message.
CRASHES = """\
id: main
nodes:
  a: {set: {x: "{{ 1 / 0 }}"}, out: b}
  b: {emit: {text: "never"}, out: end}
"""
#: Computes as long as a turn may: two hundred nodes, each over a thousand items.
SLOW = """\
id: main
vars: {list: {default: [LIST]}, n: {default: 0}}
nodes:
  a:
    set: {n: "{{ vars.n + size(vars.list.filter(i, i % 7 == 3)) }}"}
    out: [{when: "vars.n < 100000000", to: a}, {to: end}]
""".replace("LIST", ",".join(map(str, range(300))))
#: Makes values as large as they may be, and says them.
HUGE = """\
id: main
vars: {text: {default: "TEXT"}}
nodes:
  a: {set: {b: "{{ vars.text + vars.text }}"}, out: c}
  c: {set: {d: "{{ vars.b + vars.b }}"}, out: say}
  say: {emit: [{text: "{{ vars.d }}"}, {text: "{{ vars.d }}"}, {text: "{{ vars.d }}"}], out: w}
  w: {wait: {}, out: a}
""".replace("TEXT", "x" * 60_000)
BAD: Mapping[str, str] = {"crashes": CRASHES, "slow": SLOW, "huge": HUGE}

TENANTS = ("acme", "beta")
BAD_TENANT = "bad"
#: Users of each tenant, who talk with short pauses.
USERS = 3
PAUSE_S = 0.02
WAIT_MS = 60_000


def _upload(flow: str) -> PackUpload:
    files = {"pack.yaml": b"id: shop\nversion: 1.0.0\n", "flows/main.yaml": flow.encode()}
    definition = reader.read(files)
    described = manifest.describe(definition.id, definition.version, files)
    pack = Pack(definition, files, described, Verdict(Origin.UNSIGNED))
    return packs.upload_of(packs.build(pack))


async def _deploy(engine: Engine, tenant: str, flow: str) -> None:
    upload = _upload(flow)
    await engine.packs.put(upload, tenant=tenant)
    new = NewDeployment(env="local", id="shop", tenant=tenant, pack="shop")
    await engine.deployments.create(new)
    ref = DeploymentRef(env="local", id="shop", tenant=tenant)
    revision, _ = await engine.deployments.stage(ref, digest=upload.digest)
    await engine.deployments.warm(ref, revision.id)

    async def is_ready() -> bool:
        found = (await engine.deployments.get(ref)).revision(revision.id)
        return found is not None and found.lifecycle is Lifecycle.READY

    await wait_for(is_ready, timeout_s=30)
    generation = (await engine.deployments.get(ref)).split.generation
    entries = [SplitEntry(revision=revision.id, weight_bps=10_000)]
    await engine.deployments.set_split(ref, entries, expected_generation=generation)


async def _say(engine: Engine, tenant: str, user: str, text: str) -> float:
    """Send a message; returns how many ms its turn took."""
    payload = b'{"text": "%s"}' % text.encode()
    activity = NewActivity(conversation="c", user=user, tenant=tenant, payload=payload)
    started = time.perf_counter()
    await engine.activities.handle(activity, wait_ms=WAIT_MS)
    return (time.perf_counter() - started) * 1000


async def _talk(engine: Engine, tenant: str, user: str, took: list[float], ends_at: float) -> None:
    while time.monotonic() < ends_at:
        for text in ("hi", "Ann"):
            took.append(await _say(engine, tenant, user, text))
            await asyncio.sleep(PAUSE_S)


async def _phase(engine: Engine, seconds: float) -> list[float]:
    """Let users of all tenants talk; returns how long the turns of the good tenants took."""
    took: list[float] = []
    ends_at = time.monotonic() + seconds
    talks = [
        asyncio.ensure_future(
            _talk(engine, tenant, f"u{number}", took if tenant != BAD_TENANT else [], ends_at)
        )
        for tenant in (*TENANTS, BAD_TENANT)
        for number in range(USERS)
    ]
    await asyncio.gather(*talks[:-USERS])
    for talk in talks:
        talk.cancel()
    await asyncio.gather(*talks, return_exceptions=True)
    return took


@contextlib.asynccontextmanager
async def two_hosts() -> AsyncIterator[Engine]:
    """Two hosts on a store."""
    with start_server() as server, tempfile.TemporaryDirectory() as folder:
        url = f"valkey://127.0.0.1:{server.port}"
        command = [sys.executable, "-m", "holdfast.cli", "host", "--store", url]
        async with open_engine(url) as engine:
            hosts = [
                subprocess.Popen(
                    [*command, "--log-level", "error"],
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                for _ in range(2)
            ]
            try:
                for tenant in TENANTS:
                    await _deploy(engine, tenant, GOOD)
                yield engine
            finally:
                for host in hosts:
                    host.kill()
                for host in hosts:
                    host.wait()


async def compare(engine: Engine, kind: str, seconds: float) -> dict[str, float]:
    """Measure the good tenants beside a third one with a sound pack, then with a bad one."""
    await _deploy(engine, BAD_TENANT, GOOD)
    await _phase(engine, seconds / 2)
    sound = await _phase(engine, seconds)
    await _deploy(engine, BAD_TENANT, BAD[kind])
    # Both are measured after their hosts have loaded and first used them.
    await _phase(engine, seconds / 2)
    beside = await _phase(engine, seconds)
    before, after = (quantiles(took, n=20)[-1] for took in (sound, beside))
    return {
        f"{kind}: p50 before ms": median(sound),
        f"{kind}: p50 beside ms": median(beside),
        f"{kind}: p95 before ms": before,
        f"{kind}: p95 beside ms": after,
        f"{kind}: p95 ratio": after / before,
    }


async def measure_isolation(seconds: float = 6.0) -> dict[str, float]:
    """Measure what each bad pack does to the turns of other tenants."""
    results: dict[str, float] = {}
    async with two_hosts() as engine:
        for kind in BAD:
            results |= await compare(engine, kind, seconds)
    return results


def main() -> None:
    """Print what was measured."""
    for name, value in asyncio.run(measure_isolation()).items():
        print(f"{name:28} {value:10.2f}")


if __name__ == "__main__":
    main()
