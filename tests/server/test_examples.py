"""The OpenAPI document has an example of every answer in JSON: one that a server gave.

`HOLDFAST_RECORD=1 pytest -n 0 tests/server/test_examples.py` records those that are missing, or no
longer fit.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from holdfast.engine import Engine
from holdfast.server import openapi
from holdfast.server.routes import TABLES
from holdfast.store.client import Client
from tests.conftest import make_store
from tests.server.answers.ways import ROUTES, Stage, staged, ways_of

RECORDED = Path(openapi.__file__).with_name("examples.json")
WITH_REPLY = [name for name, route in ROUTES.items() if route.reply is not None]
#: Secrets are shown to nobody, and folders of a test to nobody else.
_HIDDEN = {"hf_": "hf_...", "hf1.": "hf1.k1....", "/": "s3://bucket/", "file:///": "s3://bucket/"}
_MOST_ITEMS = 2


@pytest.fixture(scope="module")
async def stage(
    single_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """A server, on which each route makes things of its own."""
    engine = Engine(await make_store(single_client, 1))
    async with staged(engine, tmp_path_factory.mktemp("archives")) as stage:
        yield stage
    await engine.close()


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(one) for key, one in value.items()}
    if isinstance(value, str):
        hidden = [text for start, text in _HIDDEN.items() if value.startswith(start)]
        return hidden[0] if hidden else value
    if isinstance(value, list):
        return [_shown(one) for one in value[:_MOST_ITEMS]]
    return value


def _fits(name: str) -> bool:
    example = openapi.example_of(ROUTES[name])
    try:
        fitted = msgspec.json.decode(json.dumps(example), type=ROUTES[name].reply)
    except msgspec.ValidationError:
        return False
    return bool(json.loads(msgspec.json.encode(fitted)) == example)


@pytest.mark.skipif("HOLDFAST_RECORD" not in os.environ, reason="only by hand: it writes a file")
async def test_record(stage: Stage) -> None:
    """Ask each route for its first answer, and keep it."""
    found = {name: openapi.example_of(ROUTES[name]) for name in WITH_REPLY}
    for name in WITH_REPLY:
        if _fits(name):
            continue
        way = ways_of(name)[ROUTES[name].statuses[0]]
        assert way is not None
        came = await way(stage, name)
        if not isinstance(came, httpx.Response):
            came["headers"]["Accept"] = "application/json"
            came = await stage.send(came)
        found[name] = _shown(came.json())
    RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", WITH_REPLY)
def test_the_example_of_a_reply_is_one(name: str) -> None:
    """It has the fields that the reply has, and no others."""
    assert _fits(name), f"record it: {__doc__}"


def test_the_document_shows_them() -> None:
    """Beside the schema."""
    document = openapi.document(TABLES)
    created = document["paths"]["/v1/executions"]["post"]["responses"]["201"]
    assert created["content"]["application/json"]["example"]["state"] == "waiting"
    for name in WITH_REPLY:
        method, path = name.split(" ")
        answers = document["paths"][path][method.lower()]["responses"]
        content = answers[str(ROUTES[name].statuses[0])]["content"]
        assert "example" in content["application/json"], name
