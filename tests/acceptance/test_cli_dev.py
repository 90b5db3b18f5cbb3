"""`holdfast dev`: one command, and editing the file is enough."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import httpx

from holdfast.engine import Engine, open_engine
from holdfast.host.packs import starting
from holdfast.model.activities import NewActivity
from holdfast.testing.polling import wait_for
from tests.acceptance.test_cli import SHOP, TIMEOUT_S, background, done, holdfast, write_shop

_STARTED = "holdfast is running shop:app"
_GREET = ("submit", "greet", "-i", '{"name": "Ada"}', "--wait")


def _rewrite(folder: Path, old: str, new: str) -> None:
    """Change the app as an editor does: a new file in place of the old one."""
    path = folder / "shop.py"
    draft = folder / "shop.py.new"
    draft.write_text(path.read_text().replace(old, new))
    draft.replace(path)


async def _wait_until_gone(pid: int) -> None:
    async def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    await wait_for(gone, timeout_s=TIMEOUT_S)


async def test_dev_runs_the_app_reloads_it_and_stops_cleanly(tmp_path: Path) -> None:
    """It says what runs and what to try; a change is live in seconds; Ctrl-C leaves nothing."""
    write_shop(tmp_path)
    with background(["dev", "shop:app"], tmp_path) as dev:
        await dev.wait_for_text("Try, in another terminal:")
        for part in ("lanes    default, mail", "greet(name: string", f"{tmp_path}/.holdfast"):
            assert part in dev.text()
        assert 'holdfast submit greet --input \'{"name": "text"}\' --wait' in dev.text()
        assert done(*_GREET, folder=tmp_path) == '"Hello Ada"\n'
        server = json.loads((tmp_path / ".holdfast" / "server.json").read_text())["pid"]

        _rewrite(tmp_path, "Hello", "Good evening")
        await dev.wait_for_text("reload: shop.py")
        await dev.wait_for_text(_STARTED, times=2)
        assert done(*_GREET, folder=tmp_path) == '"Good evening Ada"\n'

        assert dev.end(signal.SIGINT) == 130
    assert "Traceback" not in dev.text()
    await _wait_until_gone(server)


async def test_dev_waits_for_a_correction_of_broken_code(tmp_path: Path) -> None:
    """An error in the file is told, and correcting it is enough."""
    write_shop(tmp_path, SHOP.replace("async def greet(", "async def greet((("))
    with background(["dev", "shop:app"], tmp_path) as dev:
        await dev.wait_for_text("it starts again when a file changes")
        assert "module shop has an error in" in dev.text()
        _rewrite(tmp_path, "greet(((", "greet(")
        await dev.wait_for_text(_STARTED)
        assert dev.end(signal.SIGTERM) == 0


def test_dev_of_an_unknown_module_ends_with_2(tmp_path: Path) -> None:
    """There is no file whose correction could be waited for."""
    shown = holdfast("dev", "nowhere:app", folder=tmp_path)
    assert (shown.returncode, "there is no module nowhere" in shown.stderr) == (2, True)
    shown = holdfast("dev", "nowhere:app", "elsewhere:app", folder=tmp_path)
    assert (shown.returncode, "only one app runs, and elsewhere:app" in shown.stderr) == (2, True)


async def test_work_of_a_killed_dev_is_not_left_to_an_orphan(tmp_path: Path) -> None:
    """The worker notices that its parent is gone, and ends."""
    write_shop(tmp_path)
    with background(["dev", "shop:app", "--json"], tmp_path) as dev:
        started = '"event":"started"'
        await dev.wait_for_text(started)
        said = json.loads(next(line for line in dev.text().splitlines() if started in line))
        worker = int(said["instance"].split(".")[-2])
        dev.process.kill()
        await _wait_until_gone(worker)


async def test_dev_deploys_a_pack_on_every_save(tmp_path: Path) -> None:
    """A mistake changes nothing; a conversation under way stays with what it began with."""
    starting.write(tmp_path / "hello", starting.files("hello", "hello"))
    flow = tmp_path / "hello" / "flows" / "main.yaml"
    text = flow.read_text()
    with background(["dev", "hello", "--listen", "127.0.0.1:0"], tmp_path) as dev:
        await dev.wait_for_text("deployed hello 0.1.0")
        store = f"embedded://{tmp_path}/.holdfast"
        async with open_engine(store, maintenance=False) as engine:
            assert await _say(engine, "hi", "ann") == ["Hello. What is your name?"]
            flow.write_text(text.replace("out: greet", "out: nowhere"))
            await dev.wait_for_text("not deployed: ")
            flow.write_text(text.replace("Hello.", "Good day.").replace("Nice", "Great"))
            await dev.wait_for_text("deployed hello 0.1.0", times=2)
            assert await _say(engine, "hi", "ben") == ["Good day. What is your name?"]
            assert await _say(engine, "Ann", "ann") == ["Nice to meet you, Ann."]
        typed = holdfast("chat", "--deployment", "hello", folder=tmp_path, stdin="hi\nCyd\n")
        assert "Great to meet you, Cyd." in typed.stdout, typed.stderr
        (chat,) = set(re.findall(r"chat with it: (\S+)", dev.text()))
        assert await _visit(chat, "hi") == "Good day. What is your name?"
        deployed = json.loads(done("deploy", "hello", "--json", folder=tmp_path))
        assert (deployed["lifecycle"], deployed["generation"]) == ("ready", 2)
        assert dev.end(signal.SIGINT) == 130
    assert "Traceback" not in dev.text()


async def _visit(chat: str, text: str) -> str:
    """Say something in the web chat, and return the first reply."""
    async with httpx.AsyncClient() as client:
        assert "<!doctype html>" in (await client.get(chat)).text
        await client.post(f"{chat}/session")
        sent = await client.post(f"{chat}/messages", json={"id": "m1", "text": text})
        assert sent.status_code == httpx.codes.OK, sent.text

        async def replied() -> str | None:
            lines = (await client.post(f"{chat}/session")).json()["lines"]
            return next(
                (one["payload"]["text"] for one in lines if one["direction"] == "out"), None
            )

        return await wait_for(replied, timeout_s=TIMEOUT_S) or ""


async def _say(engine: Engine, text: str, user: str) -> list[str]:
    payload = json.dumps({"text": text}).encode()
    activity = NewActivity(conversation="c", user=user, payload=payload)
    answer = await engine.activities.handle(activity, wait_ms=20_000)
    return [reply.text for reply in answer.replies]
