"""Secrets of the store, as components get them."""

from __future__ import annotations

import json

import pytest

from holdfast.engine import Engine
from holdfast.host.components import Sandbox, Services
from holdfast.host.flows.runners import NodeFailed
from holdfast.host.vault import Vault
from tests.support import wat
from tests.support.components import call_of, loaded, pack_of

CODE = 'def run(input, host):\n    return len(host.secret("API_KEY"))\n'


async def test_a_component_reads_the_secret_of_its_own_tenant(engine: Engine) -> None:
    """Another tenant's secret of the same name stays with that tenant, for Python and WASM."""
    await engine.secrets.set("API_KEY", "four-and-more", tenant="acme", env="default")
    await engine.secrets.set("API_KEY", "hidden", tenant="acme", env="other")
    asked = wat.insisting(json.dumps({"call": "secret.get", "name": "API_KEY"}))
    pack = pack_of({"py": ("python", CODE), "wasm": ("wasm", asked)}, more="secrets: [API_KEY]")
    sandbox, services = Sandbox(), Services(vault=Vault(engine.secrets))
    async with loaded(pack, sandbox, services) as components:
        assert await components(call_of("py")) == len("four-and-more")
        for name in ("py", "wasm"):
            with pytest.raises(NodeFailed) as failure:
                await components(call_of(name, tenant="rival"))
            assert failure.value.code == "component_denied"
            assert failure.value.details == {"code": "secret_missing"}
    sandbox.close()
