"""Envs: named targets of deployments."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast import errors
from holdfast.model import envs
from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes, Scope
from holdfast.server.views.deployments import EnvPage, EnvView
from holdfast.server.views.fields import Body

routes: Routes = Routes("envs", "Named targets of deployments, and whose packs each accepts.")

PublicKey = Annotated[str, Meta(pattern="^ed25519:[A-Za-z0-9+/]{43}=$")]


class EnvBody(Body):
    """Whose packs an env accepts."""

    #: Whether a pack needs no trusted signature.
    unsigned_packs: bool = False
    #: Public keys whose packs are accepted.
    trust: Annotated[tuple[PublicKey, ...], Meta(max_length=envs.MOST_KEYS)] = ()


@routes.put(
    "/v1/envs/{env}",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    status=(200, 201),
    errors=(errors.StoreFull,),
    example={"unsigned_packs": True},
)
async def put(call: Call, env: str, body: EnvBody) -> Answer[EnvView]:
    """Create an env, or replace what it trusts. Staged revisions stay as they are."""
    found, created = await call.engine.envs.put(
        env, unsigned_packs=body.unsigned_packs, trust=body.trust
    )
    return Answer(EnvView.of(found), 201 if created else 200)


@routes.get("/v1/envs")
async def list_envs(call: Call) -> EnvPage:
    """List envs. `local` always exists and accepts unsigned packs until it is put otherwise."""
    return EnvPage(items=[EnvView.of(env) for env in await call.engine.envs.list()])


@routes.get("/v1/envs/{env}", errors=(errors.EnvNotFound,))
async def describe(call: Call, env: str) -> EnvView:
    """Read an env."""
    return EnvView.of(await call.engine.envs.get(env))


@routes.delete(
    "/v1/envs/{env}",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    status=204,
    errors=(errors.EnvNotFound, errors.EnvInUse),
    takes_key=True,
)
async def delete(call: Call, env: str) -> None:
    """Delete an env without deployments. `local` always exists."""
    await call.engine.envs.delete(env)
