"""Run a host in this process until a signal drains it; for development, deploy on every save."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.api import Engine as AnyEngine
from holdfast.cli.process import reloading
from holdfast.cli.process.serving import noting_ctrl_c, serving_http
from holdfast.cli.terminal import output
from holdfast.concurrency import first_of, stop
from holdfast.engine import Engine, open_engine
from holdfast.errors import Conflict, HoldfastError, NotOverHttp
from holdfast.host import deploying, packs
from holdfast.host.host import Host
from holdfast.host.settings import LOAD_S
from holdfast.model.deployments import DeploymentRef
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.revisions import Lifecycle
from holdfast.worker.worker import stop_on_signals

if TYPE_CHECKING:
    from holdfast.host.settings import HostSettings

LOOK_EVERY_S = 0.3


async def serve_host(
    store: str,
    settings: HostSettings,
    announce: Callable[[str | None], None],
    *,
    listen: str | None = None,
    folders: Sequence[Path] = (),
) -> bool:
    """Serve until a signal stops the host; return whether it was Ctrl-C.

    HTTP is served at `listen`, and `announce` gets its URL. The packs in `folders` are deployed,
    and again whenever a file of them changes.
    """
    async with open_engine(store) as engine, serving_http(engine, listen, output.note) as url:
        host = Host(engine, settings)
        with stop_on_signals(host), noting_ctrl_c() as interrupted:
            running = asyncio.ensure_future(host.run())
            await first_of(running, host.started.wait())
            if not running.done():
                announce(url)
            async with _deploying(engine, settings.env, folders, url):
                await running
    return interrupted.is_set()


@contextlib.asynccontextmanager
async def hosting(
    engine: AnyEngine, settings: HostSettings, folders: Sequence[Path], url: str | None
) -> AsyncIterator[None]:
    """Host the packs in folders next to the worker of an app, while the block runs."""
    if not isinstance(engine, Engine):
        raise NotOverHttp("packs are hosted at the store itself, not over HTTP")
    host = Host(engine, settings)
    async with host.running(), _deploying(engine, settings.env, folders, url):
        yield


@contextlib.asynccontextmanager
async def _deploying(
    engine: Engine, env: str, folders: Sequence[Path], url: str | None
) -> AsyncIterator[None]:
    """Deploy each folder whenever it changes, while the block runs."""
    watching = [asyncio.ensure_future(_watch(engine, env, folder, url)) for folder in folders]
    try:
        yield
    finally:
        for one in watching:
            await stop(one)


async def _watch(engine: Engine, env: str, folder: Path, url: str | None) -> None:
    seen: reloading.Times | None = None
    while True:
        now = await asyncio.to_thread(reloading.times_of, [folder], ending="")
        if now != seen:
            seen = now
            try:
                output.note(await _deploy(engine, env, folder, url))
            except TimeoutError:
                output.note(f"not deployed: no host has loaded it within {LOAD_S:g} s")
            except HoldfastError as error:
                output.note(f"not deployed: {error}")
        await asyncio.sleep(LOOK_EVERY_S)


async def _deploy(engine: Engine, env: str, folder: Path, url: str | None) -> str:
    """Deploy a folder, and return a line about it."""
    upload = packs.upload_of(await asyncio.to_thread(_built, folder))
    ref = DeploymentRef(env=env, id=upload.id, tenant=DEFAULT_TENANT)
    async with asyncio.timeout(LOAD_S):
        revision = await deploying.upload(engine, upload, ref)
        await deploying.wait_ready(engine, ref, revision.id)
        await deploying.shift(engine, ref, revision.id)
    await _tidy(engine, ref, revision.id)
    deployed = f"deployed {upload.id} {upload.version} as revision {revision.id}"
    return deployed if url is None else f"{deployed}; chat with it: {url}/chat/{env}/{upload.id}"


def _built(folder: Path) -> bytes:
    return packs.build(packs.load_folder(folder))


async def _tidy(engine: Engine, ref: DeploymentRef, current: str) -> None:
    """Drain revisions before the current one, and archive those that nothing needs."""
    for revision in (await engine.deployments.get(ref)).revisions:
        if revision.id == current:
            continue
        # Another process may work on the same deployment.
        with contextlib.suppress(Conflict):
            if revision.lifecycle is Lifecycle.READY:
                await engine.deployments.drain(ref, revision.id)
            elif revision.lifecycle in (Lifecycle.INACTIVE, Lifecycle.FAILED):
                await engine.deployments.archive(ref, revision.id)
