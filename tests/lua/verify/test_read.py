"""hf_verify_read."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.store.verify.reading import Partition
from holdfast.store.verify.view import Read
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_one, create_one

MISSING: Read = ("v", "x:gone", b"")


async def test_values_members_and_sizes(store: Store, clock: Clock) -> None:
    """Of every type, with the store's time; what is not there is None, or 0."""
    execution_id = await create_one(store, tags={"a": "b"})
    partition = Partition(store.caller, store.tag_of(execution_id))
    member = execution_id.encode()
    cell = "c:default|default|work|waiting"
    reads: list[Read] = [
        ("v", cell, b""),
        ("m", cell, member),
        ("m", cell, b"gone"),
        ("n", cell, b""),
        ("v", "tenants", b""),
        ("m", "tenants", b"default"),
        ("m", "tenants", b"gone"),
        ("m", f"x:{execution_id}", b"state"),
        MISSING,
        ("m", "x:gone", b"state"),
        ("n", "x:gone", b""),
    ]
    now, digest, answers = await partition.read(reads)
    born = answers[reads[1]]
    assert list(answers.values()) == [
        *({member: born}, born, None, 1),
        *({b"default"}, 1.0, None, b"waiting"),
        *(None, None, 0),
    ]
    assert now == clock.now_ms
    assert (await partition.read(reads))[1] == digest


async def test_a_brief_is_read_as_the_hashes_that_it_stands_for(store: Store, clock: Clock) -> None:
    """That of the record, and that of its steps."""
    claim = await claim_one(store, await create_one(store, input=b"x" * 100))
    for name in ("one", "two"):
        await store.executions.checkpoint(claim.id, claim.lease, name, name.encode())
    record, steps = f"x:{claim.id}", f"s:{claim.id}"
    reads: list[Read] = [
        *(("m", record, name) for name in (b"state", b"input", b"gone")),
        *(("m", steps, name) for name in (b"two", b"gone")),
        ("n", steps, b""),
        ("v", steps, b""),
    ]
    _, _, answers = await Partition(store.caller, store.tag_of(claim.id)).read(reads)
    values = {name: f"{n} {clock.now_ms} {name}".encode() for n, name in ((1, "one"), (2, "two"))}
    assert list(answers.values()) == [
        *(b"active", b"x" * 100, None),
        *(values["two"], None, 2),
        {name.encode(): value for name, value in values.items()},
    ]


async def test_the_digest_is_that_of_the_answers(store: Store) -> None:
    """Whatever changes in what was read changes it."""
    execution_id = await create_one(store)
    tag = store.tag_of(execution_id)
    partition = Partition(store.caller, tag)
    _, before, _ = await partition.read([MISSING])
    await create_one(store)
    assert (await partition.read([MISSING]))[1] == before
    await store.client.call(("HSET", f"{tag}:x:gone", "state", "staged"))
    assert (await partition.read([MISSING]))[1] != before


async def test_a_damaged_brief_is_read_as_the_string_that_it_is(store: Store) -> None:
    """So that what is wrong with it can be reported."""
    tag = store.tag_of("damaged")
    await store.client.call(("SET", f"{tag}:x:damaged", "nonsense"))
    reads: list[Read] = [
        ("v", "x:damaged", b""),
        ("m", "x:damaged", b"state"),
        ("v", "s:damaged", b""),
    ]
    _, _, answers = await Partition(store.caller, tag).read(reads)
    assert list(answers.values()) == [b"nonsense", None, None]
