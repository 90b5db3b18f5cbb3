"""Calls on behalf of a tenant: every owned function, called as `hf_owned_FOLDER_FILE`."""

from __future__ import annotations

from datetime import datetime

import pytest

from holdfast.errors import (
    ExecutionNotFound,
    GraphNotFound,
    NotActive,
    NotFound,
    SessionNotFound,
)
from holdfast.model.executions import Lease, NewExecution
from holdfast.model.sessions import Activity, Busy
from holdfast.model.states import State
from holdfast.store.restrictions import restricted
from holdfast.store.store import Store
from holdfast.store.valkey import library
from holdfast.store.valkey.library import Source
from tests.support.conversing import key
from tests.support.graphs import submit
from tests.support.lifecycle import (
    Dump,
    claim_one,
    claim_ready,
    complete_one,
    create_one,
    create_together,
    refused,
    state_of,
)

#: Functions about one thing; the first argument is its id.
OWNED = [
    s for s in library.sources().values() if s.header.owned in {"execution", "graph", "session"}
]
each_function = pytest.mark.parametrize("source", OWNED, ids=lambda source: source.name)


@each_function
async def test_what_is_another_tenants_looks_missing(
    source: Source, store: Store, dump: Dump
) -> None:
    """The refusal is that of an id that nothing has, and nothing is written."""
    error: type[NotFound]
    if source.header.owned == "graph":
        error, thing = GraphNotFound, (await submit(store, "a", tenant="acme")).id
    elif source.header.owned == "session":
        item = NewExecution(kind="bot", tenant="acme")
        activity = Activity(key=key(tenant="acme"), payload=b"{}")
        delivered = await store.sessions.deliver(
            activity, item, busy=Busy.QUEUE, apology=None, sender=None
        )
        error, thing = SessionNotFound, delivered.session
    else:
        error, thing = ExecutionNotFound, await create_one(store, tenant="acme")
    is_read = source.header.flags == "no-writes"
    call = store.caller.read if is_read else store.caller.write
    rest = ["0"] * (len(source.header.args) - 1)
    for name in (thing, "nothing"):
        answer = call(source.owned_function, store.tag_of(name), name, *rest, "other")
        await refused(answer, error, dump, id=name)


async def test_the_owner_gets_the_answer_of_the_plain_function(store: Store) -> None:
    """In every part of the life of an execution."""
    execution_id = await create_one(store, tenant="acme", input=b"7")
    plain = await store.queries.describe(execution_id)
    with restricted("acme", [execution_id]) as restriction:
        assert await store.queries.describe(execution_id) == plain
        assert restriction.checked
        assert await store.queries.input(execution_id) == b"7"
        assert await store.queries.owner(execution_id) == "acme"
        claim = await claim_one(store, execution_id)
        await store.executions.progress(execution_id, claim.lease, 40, "2 of 5")
        for _ in range(2):
            await store.executions.complete(execution_id, claim.lease, b"1", "text/plain")
        with pytest.raises(NotActive):
            await store.executions.progress(execution_id, claim.lease, 50, "")
    done = await store.queries.describe(execution_id)
    assert (done.state, done.progress_pct) == (State.COMPLETED, 40)
    outcome = await store.executions.outcome(execution_id)
    assert outcome is not None
    assert (outcome.result, outcome.content_type) == (b"1", "text/plain")


async def test_the_owner_of_a_graph_gets_the_answer_of_the_plain_function(store: Store) -> None:
    """Reads and writes."""
    run = await submit(store, "a b", tenant="acme")
    plain = await store.graphs.describe(run.id)
    with restricted("acme", [run.id]) as restriction:
        assert await store.graphs.describe(run.id) == plain
        assert restriction.checked
    with restricted("other", [run.id]), pytest.raises(GraphNotFound):
        await store.graphs.describe(run.id)


async def test_each_renewal_is_checked(store: Store) -> None:
    """A lease of another tenant is refused like one on nothing; the others are renewed."""
    ours, theirs = await create_together(store, {"tenant": "acme"}, {"tenant": "other"})
    held: list[tuple[str, Lease]] = []
    for _ in range(2):
        (claim,) = await claim_ready(store,
            store.tag_of(ours), request=f"r{len(held)}", worker="w", lanes=["default"],
            capabilities=[], limit=1, lease_ms=30_000,
        )  # fmt: skip
        held.append((claim.id, claim.lease))
    held = [*sorted(held, key=lambda one: one[0] != ours), ("nothing", held[0][1])]
    with restricted("acme", [name for name, _ in held]):
        mine, foreign, unknown = await store.leases.renew(held, 60_000)
    assert isinstance(mine, datetime)
    for answer, name in ((foreign, theirs), (unknown, "nothing")):
        assert isinstance(answer, ExecutionNotFound)
        assert (answer.message, answer.context) == (
            f"no execution has the id {name}",
            {"id": name},
        )
    assert (await store.queries.describe(theirs)).lease_expires_at != mine
    assert await state_of(store, theirs) is State.ACTIVE


async def test_other_ids_are_not_concerned(store: Store) -> None:
    """The engine may follow a link to another thing, and a restriction ends with its block."""
    ours, theirs = await complete_one(store, tenant="acme"), await create_one(store, tenant="other")
    with restricted("acme", [ours]) as restriction:
        assert (await store.queries.describe(theirs)).tenant == "other"
        assert not restriction.checked
    with restricted("acme", [theirs]), pytest.raises(ExecutionNotFound):
        await store.queries.describe(theirs)
    assert (await store.queries.describe(theirs)).tenant == "other"


async def test_the_check_is_part_of_the_script(store: Store) -> None:
    """A store that is too full for the library checks it too."""
    execution_id = await create_one(store, tenant="acme")
    tag = store.tag_of(execution_id)
    for function in ("hf_owned_execution_owner", "hf_owned_execution_describe"):
        script = store.loader.script(function)
        own = await store.client.call(("EVAL", script, "1", tag, execution_id, "acme"))
        foreign = await store.client.call(("EVAL", script, "1", tag, execution_id, "other"))
        assert own[0] == b"ok"
        assert foreign == [b"no", b"execution_not_found", b"id", execution_id.encode()]
    renew = store.loader.script("hf_owned_lease_renew")
    reply = await store.client.call(("EVAL", renew, "1", tag, "1000", execution_id, "f", "other"))
    assert reply == [b"ok", [b"no", b"execution_not_found", b"id", execution_id.encode()]]
