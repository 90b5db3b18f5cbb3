"""The oven behind a web application, which runs its worker."""

from __future__ import annotations

from fastapi import FastAPI

from holdfast.integrations.fastapi import lifespan
from holdfast.worker.worker import WorkerSettings
from tests.acceptance.apps.oven import app, bake

api = FastAPI(lifespan=lifespan(app, worker=WorkerSettings(lease_ms=2_000)))


@api.post("/breads/{name}")
async def order(name: str) -> str:
    """Accept an order."""
    return (await bake.options(id=f"bake-{name}").submit(name)).id


@api.get("/breads/{name}")
async def bread(name: str) -> str:
    """Wait for a bread."""
    return await bake.handle(f"bake-{name}").result(timeout=60)
