"""Packs with components, and calls of them, without a flow."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from holdfast.errors import SecretNotFound
from holdfast.host.components import Components, Sandbox, Services
from holdfast.host.flows.runners import ComponentCall, Invocation
from holdfast.host.packs import Origin, Pack, Verdict, manifest, reader

FLOW = b"id: main\ntype: messaging\nnodes: {a: {emit: {text: hi}}}\n"


def pack_of(
    components: Mapping[str, tuple[str, bytes | str]],
    *,
    limits: str = "",
    more: str = "",
    origin: Origin = Origin.TRUSTED,
    operations: Sequence[str] = ("run",),
) -> Pack:
    """Return a pack; a component is its kind with its code, or with its URL."""
    files: dict[str, bytes] = {"flows/main.yaml": FLOW}
    lines = ["id: demo", "version: 1.0.0", more, "components:"]
    for name, (kind, code) in components.items():
        source = (
            code if kind == "http" else f"components/{name}.{'py' if kind == 'python' else 'wasm'}"
        )
        if kind != "http":
            files[str(source)] = code.encode() if isinstance(code, str) else code
        bounds = f", limits: {{{limits}}}" if limits else ""
        names = ", ".join(operations)
        lines.append(
            f"  {name}: {{kind: {kind}, source: {source!r}, operations: [{names}]{bounds}}}"
        )
    files["pack.yaml"] = "\n".join(lines).encode()
    definition = reader.read(files)
    described = manifest.describe(definition.id, definition.version, files)
    return Pack(definition, files, described, Verdict(origin))


def about(tenant: str = "acme", *, timeout_ms: int = 60_000) -> Invocation:
    """Return facts about a call."""
    return Invocation(
        execution="e1",
        tenant=tenant,
        env="default",
        flow="main",
        node="find",
        idempotency_key="e1/1.main.find",
        timeout_ms=timeout_ms,
    )


def call_of(
    component: str, given: Any = None, *, operation: str = "run", **place: Any
) -> ComponentCall:
    """Return a call of a component."""
    return ComponentCall(
        component=component, operation=operation, input=given, about=about(**place)
    )


@contextlib.asynccontextmanager
async def loaded(
    pack: Pack, sandbox: Sandbox, services: Services | None = None
) -> AsyncIterator[Components]:
    """Load components for as long as the block runs."""
    components = await Components.load(pack, sandbox, services)
    try:
        yield components
    finally:
        await components.close()


class Keeper:
    """Secrets of tenants, in memory."""

    def __init__(self, secrets: Mapping[tuple[str, str], str]) -> None:
        self._secrets = dict(secrets)

    async def reveal(self, name: str, *, tenant: str, env: str) -> str:
        """Return a secret; raises SecretNotFound."""
        if (tenant, name) not in self._secrets:
            raise SecretNotFound(f"there is no secret {name}", name=name, env=env)
        return self._secrets[tenant, name]
