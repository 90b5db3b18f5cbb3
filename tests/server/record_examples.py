"""Record examples of answers for the OpenAPI document: those that are missing, or no longer fit.

`python -m tests.server.record_examples`
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import httpx
import msgspec

from holdfast.engine import Engine
from holdfast.server.http import openapi
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.urls import StoreUrl
from holdfast.testing.servers import start_server
from tests.conftest import make_store
from tests.server.answers.recipes import ROUTES, Stage, staged, ways_of

RECORDED = Path(openapi.__file__).with_name("examples.json")
WITH_REPLY = [name for name, route in ROUTES.items() if route.reply is not None]
#: Secrets are shown to nobody, and folders of a test to nobody else.
_HIDDEN = {"hf_": "hf_...", "hf1.": "hf1.k1....", "/": "s3://bucket/", "file:///": "s3://bucket/"}
_MOST_ITEMS = 2


def fits(name: str) -> bool:
    """Whether the example of a route has the fields that its reply has, and no others."""
    example = openapi.example_of(ROUTES[name])
    try:
        fitted = msgspec.json.decode(json.dumps(example), type=ROUTES[name].reply)
    except msgspec.ValidationError:
        return False
    return bool(json.loads(msgspec.json.encode(fitted)) == example)


async def answer_of(stage: Stage, name: str) -> Any:
    """Ask a route for its first answer; returns what may be shown of it."""
    way = ways_of(name)[ROUTES[name].statuses[0]]
    assert way is not None
    came = await way(stage, name)
    if not isinstance(came, httpx.Response):
        came["headers"]["Accept"] = "application/json"
        came = await stage.send(came)
    return _shown(came.json())


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    if isinstance(value, str):
        hidden = [text for start, text in _HIDDEN.items() if value.startswith(start)]
        return hidden[0] if hidden else value
    if isinstance(value, list):
        return [_shown(one) for one in value[:_MOST_ITEMS]]
    return value


async def record() -> None:
    """Write the file of examples."""
    found = {name: openapi.example_of(ROUTES[name]) for name in WITH_REPLY}
    with start_server() as server, tempfile.TemporaryDirectory() as folder:
        url = StoreUrl(addresses=(("127.0.0.1", server.port),))
        client = await Client.connect(url, timeout_ms=5_000)
        engine = Engine(await make_store(client, 1))
        async with staged(engine, Path(folder)) as stage:
            for name in WITH_REPLY:
                if not fits(name):
                    found[name] = await answer_of(stage, name)
        await engine.close()
        await client.close()
    RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    asyncio.run(record())
