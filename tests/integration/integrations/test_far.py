"""Integrations whose app is connected to a server over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import StreamingResponse

from holdfast import App, Context
from holdfast.engine import open_engine
from holdfast.integrations.fastapi import follow, lifespan
from holdfast.integrations.sqlalchemy import metadata, relay, submit
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings

pytestmark = pytest.mark.xdist_group("integrations")


async def test_an_outbox_and_a_stream_over_http(url: str, tmp_path: Path) -> None:
    """A relay submits through the server, and a web application follows through it."""
    database = create_engine(f"sqlite:///{tmp_path}/far.db")
    metadata.create_all(database)
    settings = ServerSettings(port=0)
    async with open_engine(url) as engine, serving(engine, settings) as (_, address):
        app = App(address)

        @app.task
        async def greet(ctx: Context, name: str) -> str:
            await ctx.stream.text(f"hello {name}")
            return name

        with Session(database) as session, session.begin():
            id = submit(session, greet.options(retries=1, tags={"from": "outbox"}), "Ghent")
        async with lifespan(app)(None) as state, relay(app, database) as outbox:
            await outbox.flush()
            assert await greet.handle(id).result(timeout=20) == "Ghent"
            assert (await app.engine.describe(id)).tags == {"from": "outbox"}
            reply = await follow(Request({"type": "http", "headers": [], "state": state}), id)
            assert isinstance(reply, StreamingResponse)
            shown = "".join([str(each, "utf8") async for each in reply.body_iterator])  # type: ignore[arg-type]
            assert "hello Ghent" in shown
            assert shown.endswith('event: end\ndata: {"state":"completed"}\n\n')
    database.dispose()
