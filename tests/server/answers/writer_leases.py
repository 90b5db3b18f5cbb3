"""Ways to the answers of writer leases."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast.fencing import Ask, Leases, paths
from holdfast.fencing.in_store import StoreObjects
from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, about_nothing, by_example, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request

ACQUIRE = "POST /v1/writer-leases/{key}/acquire"
REFRESH = "POST /v1/writer-leases/{key}/refresh"
RELEASE = "POST /v1/writer-leases/{key}/release"
HANDOVER = "POST /v1/writer-leases/{key}/handover"
DESCRIBE = "GET /v1/writer-leases/{key}"
HOLDER = {"holder": "reports-1", "incarnation": "i1"}

way("not_found", DESCRIBE)(about_nothing)
way("held", ACQUIRE)(by_example)


def _leases(stage: Stage) -> Leases:
    return Leases(StoreObjects(stage.engine.store))


def _new_key() -> tuple[str, str]:
    """Return a key as we know it, and as it is stored."""
    key = f"reports-{new_id()}"
    return key, f"tenants/{OURS}/{key}"


def _ask(**fields: Any) -> Ask:
    return Ask(**{**HOLDER, "ttl_ms": 30_000, "margin_ms": 5_000, **fields})


async def _held(stage: Stage, name: str, *then: Ask) -> Request:
    """Return a request of a holder; of one who has lost the lease, if others take it then."""
    key, stored = _new_key()
    grant = await _leases(stage).acquire(stored, _ask())
    for ask in then:
        await _leases(stage).acquire(stored, ask)
    token = {"term": grant.token.term, "generation": grant.token.generation}
    return await stage.request(name, {"key": key}, **HOLDER, token=token)


@way(200, REFRESH, RELEASE, HANDOVER)
async def _of_the_holder(stage: Stage, name: str) -> Request:
    return await _held(stage, name)


@way("stale_lease", REFRESH, RELEASE, HANDOVER)
async def _of_an_earlier_grant(stage: Stage, name: str) -> Request:
    return await _held(stage, name, _ask())


@way("fenced", REFRESH, RELEASE, HANDOVER)
async def _of_an_earlier_term(stage: Stage, name: str) -> Request:
    return await _held(stage, name, _ask(holder="reports-2", term=2, preempt=True))


@way(201, ACQUIRE)
async def _free(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"key": _new_key()[0]})


@way("fenced", ACQUIRE)
async def _behind(stage: Stage, name: str) -> Request:
    key, stored = _new_key()
    await _leases(stage).acquire(stored, _ask(term=2))
    return await stage.request(name, {"key": key}, term=1)


@way("lost_race", ACQUIRE)
async def _too_slow(stage: Stage, name: str) -> httpx.Response:
    key, stored = _new_key()

    async def take_and_release() -> None:
        await _leases(stage).release(await _leases(stage).acquire(stored, _ask()))

    with stage.meanwhile("hf_object_put", take_and_release):
        return await stage.send(await stage.request(name, {"key": key}))


@way("invalid_record", *(name for name in declaring("invalid_record") if "{key}" in name))
async def damaged(stage: Stage, name: str) -> Request:
    """Have a record that cannot be read."""
    key, stored = _new_key()
    await stage.engine.store.objects.put(paths.lease(stored), b"damaged", "")
    return await stage.request(name, {"key": key})
