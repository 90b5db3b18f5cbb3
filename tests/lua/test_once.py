"""Removals, repeated because their replies were lost: lib/core/once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast.errors import HoldfastError
from holdfast.model.deployments import DeploymentRef
from holdfast.model.endpoints import EndpointRef
from holdfast.model.envs import Env
from holdfast.model.pack_states import StateScope
from holdfast.model.secrets import SecretRef
from holdfast.store.store import Store
from tests.support.deployments import create, upload
from tests.support.endpoints import new
from tests.support.lifecycle import Dump, register_worker
from tests.support.limits import make_quota
from tests.support.scheduling import plan, put
from tests.support.waits import RecordingCaller

Step = Callable[[Store], Awaitable[object]]

PACK = upload("a")
SCOPE = StateScope(env="e", tenant="t", pack="p")
SECRET = SecretRef(name="api_key", tenant="acme", env="prod")
SPACE = ("users", "ann")

#: By the part of the store: how something is made, and how it is removed.
REMOVALS: dict[str, tuple[Step, Step]] = {
    "schedules": (lambda s: put(s, plan()), lambda s: s.schedules.remove("daily")),
    "secrets": (lambda s: s.secrets.set(SECRET, "k1", b"x"), lambda s: s.secrets.remove(SECRET)),
    "quotas": (make_quota, lambda s: s.quotas.delete("q")),
    "endpoints": (
        lambda s: s.endpoints.put(new(tenant="acme")),
        lambda s: s.endpoints.remove(EndpointRef(id="inbox")),
    ),
    "envs": (lambda s: s.envs.put(Env(name="prod")), lambda s: s.envs.remove("prod")),
    "packs": (lambda s: s.packs.put(PACK, "acme"), lambda s: s.packs.remove(PACK.digest, "acme")),
    "workers": (register_worker, lambda s: s.workers.remove("w1-a")),
    "deployments": (create, lambda s: s.deployments.remove(DeploymentRef(env="local", id="talk"))),
    "objects": (lambda s: s.objects.put("k", b"1", ""), lambda s: s.objects.delete("k")),
    "states": (
        lambda s: s.states.put(SCOPE, "a", b"1", expected=None, ttl_ms=None),
        lambda s: s.states.remove(SCOPE, "a", expected=None),
    ),
    "memories": (
        lambda s: s.memories.put("acme", SPACE, "a", b"1"),
        lambda s: s.memories.remove("acme", SPACE, "a"),
    ),
}


async def make_and_remove(store: Store, part: str) -> tuple[Any, ...]:
    """Return the call that removed something."""
    make, remove = REMOVALS[part]
    await make(store)
    getattr(store, part)._call = caller = RecordingCaller(store)
    await remove(store)
    return caller.calls[0]


async def outcome(store: Store, call: tuple[Any, ...]) -> object:
    """What a call answers, or its refusal."""
    try:
        return await store.caller.write(*call)
    except HoldfastError as error:
        return type(error)


@pytest.mark.parametrize("part", REMOVALS)
async def test_a_repeated_call_leaves_what_was_made_since(
    store: Store, dump: Dump, part: str
) -> None:
    """It gets the first answer: not that nothing was there."""
    call = await make_and_remove(store, part)
    answer = await outcome(store, call)
    other = await outcome(store, (*call[:-1], "other"))
    assert (other == answer) is (part == "objects")
    await REMOVALS[part][0](store)
    before = dump()
    assert await outcome(store, call) == answer
    assert dump() == before


@pytest.mark.parametrize("part", REMOVALS)
async def test_older_processes_send_no_token(store: Store, dump: Dump, part: str) -> None:
    """Each of their calls is one of its own."""
    token_call = await make_and_remove(store, part)
    call, removed = token_call[:-1], await outcome(store, token_call)
    for _ in range(2):
        await REMOVALS[part][0](store)
        before = dump()
        assert await outcome(store, call) == removed
        assert len(dump()) < len(before)


async def test_a_removal_that_was_refused_is_tried_again(store: Store) -> None:
    """Nothing was written, so there is nothing to remember."""
    await store.envs.put(Env(name="prod"))
    ref = await create(store, env="prod")
    call = ("hf_env_remove", store.global_tag, "prod", "token")
    assert isinstance(await outcome(store, call), type)
    await store.deployments.remove(ref)
    assert await outcome(store, call) == [b"removed"]
