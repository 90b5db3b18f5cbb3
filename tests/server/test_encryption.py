"""A server has the keys, so its callers see plaintext; without them, it says which is missing."""

from __future__ import annotations

import pytest

from holdfast import client as far
from holdfast.engine import Engine
from holdfast.errors import PayloadUnreadable
from holdfast.model.codec import AesGcm
from holdfast.model.sealing import is_sealed
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey.client import Client
from tests.conftest import make_store


@pytest.fixture
async def single_store(single_client: Client) -> Store:
    """A store that seals."""
    return await make_store(single_client, 1, codec=AesGcm({"k1": b"o" * 32}))


async def test_callers_see_plaintext_and_the_store_ciphertext(
    single_store: Store, engine: Engine
) -> None:
    """A worker over HTTP, too. A server without the key answers with a stable code."""
    store = single_store
    async with (
        serving(engine, ServerSettings(port=0)) as (_, url),
        far.Client(url) as client,
        client.claimer(worker="far") as claimer,
    ):
        made = await client.submit("k", input=b'"secret"')
        (claim,) = await claimer.claim(1, 30_000, 1_000)
        assert claim.input == b'"secret"'
        await client.checkpoint(claim.id, claim.lease, "s", b'"secret"')
        await client.complete(claim.id, claim.lease, b'"secret"')
        assert await client.result(made.id) == b'"secret"'
        assert [step.result for step in await client.steps(made.id)] == [b'"secret"']
        assert is_sealed(await store.queries.input(made.id))
        findings = {one.check: one.text for one in await client.operability.doctor()}
        assert findings["encryption"].startswith("on, sealing with k1; the newest 1 inputs")
    blind = Engine(Store(store.client, store.url, StoreSettings(fake_clock=True, codec=None)))
    await blind.store.boot()
    async with serving(blind, ServerSettings(port=0)) as (_, url), far.Client(url) as client:
        assert (await client.describe(made.id)).kind == "k"
        for read in (client.input, client.steps, client.result):
            with pytest.raises(PayloadUnreadable) as error:
                await read(made.id)
            assert error.value.context["kid"] == "k1"
    await blind.close()
