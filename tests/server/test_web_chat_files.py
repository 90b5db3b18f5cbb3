"""Files in the web chat over HTTP: who may send and read them, and how they are served."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from holdfast import App, Chat
from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.errors import FileNotFound
from holdfast.model.files import FileLimits
from holdfast.server.chat.doors import EVERY, Door
from tests.server.conftest import Serve, Site
from tests.server.test_every_route import assert_problem
from tests.server.test_web_chat import visiting
from tests.support.conversing import NAME, publish

CHAT = f"/chat/local/{NAME}"
LIMITS = FileLimits(most_bytes=100_000, types=("text/*", "image/*"))
HOSTILE = 'Rech\u202enung "1";\r\n.txt'


@pytest.fixture
async def site(serve: Serve, engine: Engine) -> AsyncIterator[Site]:
    """A server whose web chats take files."""
    await publish(engine)
    doors = (Door(env="local", name=EVERY),)
    async with serve(web_chats=doors, web_chat_rate=1_000, web_chat_files=LIMITS) as site:
        yield site


async def upload(
    client: httpx.AsyncClient, name: str = "a.txt", content: bytes | AsyncIterator[bytes] = b"text"
) -> httpx.Response:
    return await client.post(f"{CHAT}/files", params={"name": name}, content=content)


async def test_a_file_goes_with_a_message_and_comes_back_as_a_download(site: Site) -> None:
    """The message names it; the browser saves it and never shows it as a page."""
    async with visiting(site) as ann, visiting(site) as bob:
        file = (await upload(ann, HOSTILE, b"<script>alert(1)</script>")).json()
        assert (file["name"], file["type"]) == ("Rechnung _1__.txt", "text/plain")
        message = {"id": "m1", "files": [file["id"]]}
        assert (await ann.post(f"{CHAT}/messages", json=message)).is_success
        visit = (await ann.post(f"{CHAT}/session")).json()
        assert visit["lines"][0]["payload"] == {"files": [file]}
        assert visit["files"]["most_bytes"] == LIMITS.most_bytes
        assert ".pdf" not in visit["files"]["extensions"]
        got = await ann.get(f"{CHAT}/files/{file['id']}")
        assert (got.content, got.headers["content-type"]) == (
            b"<script>alert(1)</script>",
            "text/plain; charset=utf-8",
        )
        assert got.headers["content-disposition"].startswith("attachment; filename=")
        assert got.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in got.headers["content-security-policy"]
        assert_problem(await bob.get(f"{CHAT}/files/{file['id']}"), 404, "file_not_found")
        stolen = await bob.post(f"{CHAT}/messages", json={**message, "id": "m2"})
        assert_problem(stolen, 404, "file_not_found")
    async with site.client() as stranger:
        assert_problem(await stranger.get(f"{CHAT}/files/{file['id']}"), 401, "invalid_token")


async def test_limits_hold_before_and_while_a_file_arrives(site: Site) -> None:
    """The length that is announced, the bytes that come, the kind, and the names in a message."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 50_000

    async with visiting(site) as ann:
        large = await upload(ann, content=b"x" * 100_001)
        assert_problem(large, 413, "too_large")
        assert large.json()["limit"] == LIMITS.most_bytes
        assert_problem(await upload(ann, content=endless()), 413, "too_large")
        refused = await upload(ann, "a.pdf", b"%PDF-1.7")
        assert_problem(refused, 422, "file_refused")
        assert ".png" in refused.json()["accepted"]
        assert_problem(await upload(ann, "a.png", b"<svg/>"), 422, "file_refused")
        ids = [str(number) for number in range(11)]
        many = await ann.post(f"{CHAT}/messages", json={"id": "m1", "files": ids})
        assert_problem(many, 422, "invalid_input")
        other = {"Sec-Fetch-Site": "cross-site"}
        forged = await ann.post(f"{CHAT}/files", params={"name": "a.txt"}, headers=other)
        assert_problem(forged, 403, "forbidden")


async def test_workers_and_operators_read_it_over_http(site: Site) -> None:
    """A key of another tenant does not; after the session is erased nobody does."""
    async with visiting(site) as ann:
        file = (await upload(ann, content=b"x" * 90_000)).json()["id"]
        await ann.post(f"{CHAT}/messages", json={"id": "m1", "text": "see", "files": [file]})
        (session,) = (await site.engine.sessions.list()).items
        keys: dict[str, str] = {}
        for tenant in ("default", "other"):
            _, keys[tenant] = await site.engine.api_keys.create(tenant=tenant, roles=["worker"])
        async with Client(site.url, key=keys["default"]) as far:
            assert (await far.files.get(session.id, file)).size == 90_000
            parts = [part async for part in far.files.read(session.id, file)]
            assert b"".join(parts) == b"x" * 90_000
        path = f"/v1/sessions/{session.id}/files/{file}"
        async with site.client(keys["other"]) as other:
            assert_problem(await other.get(path), 404, "session_not_found")
            assert_problem(await other.get(f"{path}/content"), 404, "session_not_found")
        await site.engine.sessions.erase(session.id)
        assert_problem(await ann.get(f"{CHAT}/files/{file}"), 404, "file_not_found")


async def test_a_conversation_reads_a_file_and_sends_it_back(site: Site) -> None:
    """Also where the worker reaches the store only over HTTP."""
    app = App(site.url)

    @app.conversation(name=NAME)
    async def bot(chat: Chat) -> None:
        content = await chat.read_file(chat.message.files[0])
        with pytest.raises(FileNotFound):
            await chat.read_file("nothing")
        await chat.say(f"{len(content)} bytes", files=chat.message.files)

    async with app.worker(), visiting(site) as ann:
        file = (await upload(ann, content=b"x" * 500)).json()
        await ann.post(f"{CHAT}/messages", json={"id": "m1", "files": [file["id"]]})
        lines: list[dict[str, object]] = []
        while len(lines) < 2:
            lines = (await ann.post(f"{CHAT}/session")).json()["lines"]
        assert lines[1]["payload"] == {"text": "500 bytes", "files": [file]}
