"""With a codec, the store and the archive hold ciphertext; with its keys, payloads are read."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.archive import Archive, Archiver, ArchiverSettings
from holdfast.archive.archive import entries_of
from holdfast.archive.opening import set_archive
from holdfast.engine import Engine
from holdfast.engine.scheduler import Firing
from holdfast.errors import ExecutionNotFound, IdConflict, IdempotencyConflict, PayloadUnreadable
from holdfast.fencing import FolderObjects
from holdfast.model.codec import AesGcm, Codec
from holdfast.model.effects import Effect, Push, Submit
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.exports import from_json
from holdfast.model.findings import Level
from holdfast.model.frames import NewFrame
from holdfast.model.graphs import Edge, On
from holdfast.model.messages import NewMessage
from holdfast.model.pack_states import StateScope
from holdfast.model.quotas import Window
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.schedules import NewSchedule
from holdfast.model.sessions import MessageWait
from holdfast.model.states import State
from holdfast.operate import encryption
from holdfast.store.exports import open_export, seal_export
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey.client import Client
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer
from tests.conftest import make_store
from tests.support import sessions, waits
from tests.support.archives import end_retention
from tests.support.streaming import text

OLD, NEW = b"o" * 32, b"n" * 32
CODEC = AesGcm({"k1": OLD})
ROTATED = AesGcm({"k2": NEW, "k1": OLD})
#: Every payload of these tests contains it.
SECRET = "zebra crossing the road"  # noqa: S105
PAYLOAD = msgspec.json.encode({"secret": SECRET})
LARGE = msgspec.json.encode({"secret": SECRET * 100})


@pytest.fixture
async def store(client: Client) -> Store:
    """A store that seals."""
    return await make_store(client, 16 if client.cluster else 1, codec=CODEC)


@pytest.fixture
async def other(store: Store) -> AsyncIterator[Callable[[Codec | None], Any]]:
    """Other processes on the same store, with other keys."""
    engines = []

    async def open_with(codec: Codec | None) -> Engine:
        settings = StoreSettings(fake_clock=True, codec=codec)
        same = Store(store.client, store.url, settings)
        await same.boot()
        engines.append(Engine(same))
        return engines[-1]

    yield open_with
    for engine in engines:
        await engine.close()


@pytest.fixture
def raw(request: pytest.FixtureRequest, store: Store) -> Callable[[], bytes]:
    """Every key of the store with its value, as the servers dump them."""
    found = "cluster_nodes" if store.client.cluster else "single_server"
    nodes = request.getfixturevalue(found)

    def read() -> bytes:
        parts = []
        for node in nodes if isinstance(nodes, list) else [nodes]:
            with node.raw() as client:
                for key in client.scan_iter(match=f"{store.prefix}:*", count=1000):
                    parts += [key, _value(client, key)]
        return b"\n".join(parts)

    return read


def _value(client: Any, key: bytes) -> bytes:
    """Return a value with its members, none of which is compressed."""
    reads: dict[bytes, Callable[[], Any]] = {
        b"hash": lambda: [part for pair in client.hgetall(key).items() for part in pair],
        b"zset": lambda: client.zrange(key, 0, -1),
        b"set": lambda: list(client.smembers(key)),
        b"list": lambda: client.lrange(key, 0, -1),
        b"stream": lambda: [
            part for _, fields in client.xrange(key) for pair in fields.items() for part in pair
        ],
        b"string": lambda: [client.get(key)],
    }
    return b"\n".join(reads[client.type(key)]())


def leaks(blob: bytes) -> bool:
    """Whether a secret can be read, as it is or in base64."""
    shifted = {base64.b64encode(b"\0" * n + SECRET.encode())[4:-4] for n in range(3)}
    return any(word in blob for word in (SECRET.encode(), *shifted))


def about(file: bytes) -> Any:
    """Return what an exported execution says to people."""
    return msgspec.json.decode(file)["about"]


async def claim_next(engine: Engine, kind: str) -> Claim:
    """Claim the next execution of a kind."""
    async with engine.claimer(worker="w", kinds=(kind,)) as claimer:
        (claim,) = await claimer.claim(1, 30_000)
        return claim


async def run_everything_of_an_execution(engine: Engine, clock: Clock) -> str:
    """Input, steps, progress, frames, log lines, a document, signals, a view, errors, a result."""
    retry = RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=0))
    made = await engine.submit(
        "work", input=PAYLOAD, tenant="acme", idempotency_key="order 1", retry=retry
    )
    claim = await claim_next(engine, "work")
    assert claim.input == PAYLOAD
    for _ in range(2):
        assert await engine.checkpoint(claim.id, claim.lease, "charge", PAYLOAD) == PAYLOAD
    await engine.progress(claim.id, claim.lease, 50, f"half of {SECRET}")
    frames = [
        text(SECRET),
        text(SECRET, live=True),
        NewFrame(type="summary", payload=PAYLOAD),
        NewFrame(type="log", payload=b'[{"level":"info","message":"%s"}]' % SECRET.encode()),
    ]
    for frame in frames:
        await engine.streams.append(claim.id, claim.lease, [frame])
    failure = Failure(type="Refused", message=f"no {SECRET}", details={"traceback": SECRET})
    await engine.fail(claim.id, claim.lease, failure)
    claim = await claim_next(engine, "work")
    assert claim.steps == {"charge": PAYLOAD}
    condition = {"waitpoint": "gate", "where": "size(payload.secret) > 10"}
    point = await waits.prepare_one(engine.store, claim, schema={"type": "object"})
    await waits.send(engine.store, point, payload=b'{"secret":"other"}', by="ann")
    await waits.suspend(engine.store, claim, point, condition=condition)
    await waits.send(engine.store, point, payload=PAYLOAD, by="ben")
    claim = await claim_next(engine, "work")
    assert [signal.payload for signal in claim.signals] == [PAYLOAD]
    await receive_and_show(engine, claim)
    await engine.complete(claim.id, claim.lease, PAYLOAD)
    assert await engine.result(made.id) == PAYLOAD
    return made.id


async def receive_and_show(engine: Engine, claim: Claim) -> None:
    """Signals to the execution itself, of which one stays unread, and its view."""
    for _ in range(2):
        await engine.signal(claim.id, "change", PAYLOAD)
    unread = await engine.store.inboxes.peek(claim.id, claim.lease, ())
    assert unread is not None
    assert unread[1].payload == PAYLOAD
    received = [
        await engine.store.inboxes.take(claim.id, claim.lease, "signal 1", unread) for _ in range(2)
    ]
    assert received[0] == received[1]
    assert SECRET.encode() in (received[0] or b"")
    await engine.set_view(claim.id, claim.lease, PAYLOAD)
    assert (await engine.view(claim.id)).data == PAYLOAD


async def run_ways_in(engine: Engine, clock: Clock) -> None:
    """Windows, waits that an operator ends, other inputs, schedules and off-loaded payloads."""
    for _ in range(2):
        await engine.submit("late", input=PAYLOAD, debounce=Window(key="d", ms=1000))
    await engine.submit("late", input=PAYLOAD, throttle=Window(key="t", ms=1000))
    await engine.submit("large", input=LARGE, id="large")
    claim = await claim_next(engine, "large")
    assert claim.input == LARGE
    await engine.complete(claim.id, claim.lease, LARGE)
    await engine.submit("again", input=PAYLOAD)
    claim = await claim_next(engine, "again")
    await engine.continue_as(claim.id, claim.lease, PAYLOAD, continued=0)
    assert await engine.input(claim.id) == PAYLOAD
    await waits.suspend(engine.store, claim, "gate")
    await engine.waitpoints.resume(claim.id, PAYLOAD)
    claim = await claim_next(engine, "again")
    assert (claim.input, claim.signals[0].payload) == (PAYLOAD, PAYLOAD)
    item = NewExecution(kind="tick", input=PAYLOAD)
    plan = NewSchedule.from_fields({"id": "hourly", "cron": "0 * * * *", "execution": item})
    await engine.schedules.create(plan)
    assert (await engine.schedules.get("hourly")).plan.execution.input == PAYLOAD
    await engine.schedules.trigger("hourly")
    claim = await claim_next(engine, "tick")
    assert claim.input == PAYLOAD


async def run_a_graph(engine: Engine, clock: Clock) -> None:
    """Results and errors are passed on."""
    await engine.graphs.submit(
        {key: NewExecution(kind=key, input=PAYLOAD) for key in ("a", "b", "c")},
        [
            Edge(source="a", target="b", input="above"),
            Edge(source="b", target="c", on=On.FAILURE, input="why"),
        ],
        idempotency_key="graph",
    )
    claim = await claim_next(engine, "a")
    await engine.complete(claim.id, claim.lease, PAYLOAD)
    claim = await claim_next(engine, "b")
    assert msgspec.json.decode(claim.input)["above"] == {"secret": SECRET}
    failure = Failure(type="Refused", message=SECRET, retryable=False)
    await engine.fail(claim.id, claim.lease, failure)
    claim = await claim_next(engine, "c")
    assert SECRET in str(msgspec.json.decode(claim.input)["why"])


async def run_queues(engine: Engine, clock: Clock) -> None:
    """Messages, dead letters, and what is owed to queues and to the engine."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await engine.queues.define("mail")
    for number in range(4):
        await engine.queues.push("q", PAYLOAD, dedup=f"d{number}")
    handed = await engine.queues.read("q", count=2, consumer="c")
    assert [one.message.payload for one in handed] == [PAYLOAD] * 2
    await engine.queues.nack("q", handed[0].handle)
    owed: list[Effect] = [
        Push("mail", NewMessage(payload=PAYLOAD)),
        Submit(NewExecution(kind="o", input=PAYLOAD)),
    ]
    await engine.queues.ack("q", handed[1].handle, *owed)
    (third,) = await engine.queues.read("q", count=1, consumer="c")
    await engine.queues.ack("q", third.handle, *owed)
    assert [one.payload for one in await engine.queues.peek("dead")] == [PAYLOAD]
    (mail, _) = await engine.queues.read("mail", count=2, consumer="c")
    assert mail.message.payload == PAYLOAD
    claim = await claim_next(engine, "o")
    assert claim.input == PAYLOAD


async def run_a_session(store: Store, engine: Engine) -> str:
    """Messages, replies, state, buffered and merged ones, and what a person says."""
    claim = await sessions.begin(store, SECRET, busy="merge", sender="chat")
    session_id = sessions.session_of(claim)
    await sessions.turn(store, claim, "hello")
    value = await store.sessions.state(
        claim.id, claim.lease, "set:1", "name", op="set", value=PAYLOAD
    )
    assert value.value == PAYLOAD
    for _ in range(2):
        await sessions.deliver(store, SECRET, busy="merge", sender="chat")
    turned = await store.sessions.turn(
        claim.id,
        claim.lease,
        [sessions.reply("say:9", SECRET)],
        MessageWait(step="receive:1"),
    )
    assert sessions.texts_of(turned.received) == [SECRET, SECRET]
    await store.sessions.turn(claim.id, claim.lease, [], MessageWait(step="receive:2"))
    await sessions.deliver(store, SECRET, busy="merge", sender="chat")
    said = msgspec.json.encode({"text": SECRET})
    await engine.sessions.say(session_id, said, author="ben")
    async with engine.claimer(worker="w", kinds=(sessions.KIND,)) as claimer:
        (claim,) = await claimer.claim(1, 30_000)
    assert sessions.first_texts(claim) == [SECRET]
    assert sessions.texts_of(claim.steps["receive:2"]) == [SECRET]
    assert claim.steps["set:1"].endswith(PAYLOAD)
    again = await store.sessions.state(claim.id, claim.lease, "set:1", "name", op="get")
    assert again.value == PAYLOAD
    ((name, known),) = await store.sessions.values(session_id)
    assert (name, known.value) == ("name", PAYLOAD)
    lines = await sessions.lines(store, session_id)
    assert lines.count(f"> {SECRET}") == 4
    assert lines.count(f"< {SECRET}") == 2
    return session_id


async def run_everything(store: Store, engine: Engine, clock: Clock) -> tuple[str, str]:
    """Run one of everything; returns an execution and a session."""
    session_id = await run_a_session(store, engine)
    execution_id = await run_everything_of_an_execution(engine, clock)
    await run_ways_in(engine, clock)
    await run_a_graph(engine, clock)
    await run_queues(engine, clock)
    scope = StateScope(env="dev", tenant="acme", pack="shop")
    await store.states.put(scope, "cart", PAYLOAD, expected=None, ttl_ms=None)
    (kept,) = await store.states.get(scope, ["cart"])
    assert kept is not None
    assert kept.value == PAYLOAD
    return execution_id, session_id


async def test_the_store_and_the_archive_contain_no_plaintext(
    store: Store, engine: Engine, clock: Clock, tmp_path: Path, raw: Callable[[], bytes]
) -> None:
    """One of everything runs; then every key, every value and every object is searched."""
    await set_archive(store, f"file://{tmp_path}", offload_bytes=2_000)
    execution_id, _ = await run_everything(store, engine, clock)
    assert not leaks(raw())
    before = (await engine.export(execution_id)).to_json()
    assert leaks(before)
    for one in (await engine.list(limit=100)).items:
        if not one.state.is_terminal:
            await engine.cancel(one.id)
    await end_retention(store, clock)
    objects = FolderObjects(tmp_path)
    await Archiver(store, objects, ArchiverSettings(ttl_ms=5_000)).run_once()
    assert not leaks(raw())
    keyless = Archive(objects)
    rows = 0
    for name, entry in entries_of(await keyless.manifest.read()):
        for _, row in (await keyless.load(name, entry)).rows():
            assert not leaks(msgspec.msgpack.encode(row.to_row()))
            rows += 1
    assert rows >= 10
    stored = [(one.key, await objects.get(one.key)) async for one in objects.list("")]
    assert any(key.startswith("payloads/") for key, _ in stored)
    assert not any(found and leaks(found.body) for _, found in stored)
    archived = await engine.archive.get(execution_id)
    assert about(archived.to_json()) == about(before)
    assert all([SECRET.encode() in row.input() async for row in engine.archive.rows()])
    with pytest.raises(PayloadUnreadable, match="k1"):
        await keyless.get(execution_id)


async def test_a_dump_of_a_plain_store_does_contain_it(
    single_client: Client, single_server: TestServer
) -> None:
    """So that the search above is known to find something."""
    store = await make_store(single_client, 1, codec=None)
    await Engine(store).submit("work", input=PAYLOAD)
    with single_server.raw() as client:
        keys = list(client.scan_iter(match=f"{store.prefix}:*", count=1000))
        assert leaks(b"".join(_value(client, key) for key in keys))


async def test_an_imported_execution_is_sealed_again(
    store: Store, engine: Engine, clock: Clock, raw: Callable[[], bytes]
) -> None:
    """A file is in plain form, so that it can be read without keys."""
    execution_id = await run_everything_of_an_execution(engine, clock)
    file = (await engine.export(execution_id)).to_json()
    await end_retention(store, clock)
    with pytest.raises(ExecutionNotFound):
        await engine.describe(execution_id)
    await store.archives.restore(from_json(file), archived=False)
    assert not leaks(raw())
    again = await engine.export(execution_id)
    assert (again.to_row()[2], again.result()) == (from_json(file).to_row()[2], PAYLOAD)
    frames = await engine.streams.read(execution_id)
    assert SECRET in frames.frames[0].text
    assert await engine.replay(execution_id, keep_steps=True) is State.WAITING
    claim = await claim_next(engine, "work")
    assert (claim.input, claim.steps["charge"]) == (PAYLOAD, PAYLOAD)
    assert SECRET.encode() in claim.steps["signal 1"]


async def test_a_turn_of_a_conversation_is_sealed_as_the_store_reads_it(
    store: Store, engine: Engine
) -> None:
    """Numbers of replies stay, messages and values of the state become tokens."""
    session_id = await run_a_session(store, engine)
    await engine.cancel(f"{session_id}~1")
    plain = await engine.export(f"{session_id}~1")
    sealed = seal_export(store.sealing, plain)
    assert leaks(msgspec.msgpack.encode(plain.to_row()))
    assert not leaks(msgspec.msgpack.encode(sealed.to_row()))
    assert open_export(store.sealing, sealed).steps() == plain.steps()
    results = {step.name: step.result for step in sealed.steps()}
    assert results["say:hello"].isdigit()
    assert results["set:1"].startswith(b"1 1 ")


async def test_a_process_without_the_key_says_so(
    store: Store, engine: Engine, clock: Clock, other: Callable[[Codec | None], Any]
) -> None:
    """What is no payload is shown; payloads are refused with a stable code; claims wait."""
    execution_id = await run_everything_of_an_execution(engine, clock)
    await engine.submit("work", input=PAYLOAD, id="next")
    for codec in (None, AesGcm({"k3": NEW})):
        blind = await other(codec)
        described = await blind.describe(execution_id)
        assert "k1, which is not here" in (described.progress_message or "")
        (failed, *_) = [one for one in await blind.history(execution_id) if one.event == "failed"]
        assert failed.data["error"]["type"] == "Refused"
        assert "k1, which is not here" in failed.data["error"]["message"]
        assert [one.id for one in (await blind.list()).items]
        reads = (blind.input, blind.result, blind.steps, blind.export, blind.streams.read)
        for read in (*reads, blind.streams.summary, blind.waitpoints.signals):
            with pytest.raises(PayloadUnreadable) as error:
                await read(execution_id)
            assert (error.value.code, error.value.context["kid"]) == ("payload_unreadable", "k1")
        async with blind.claimer(worker="blind") as claimer:
            assert await claimer.claim(1, 30_000) == []
        await clock.advance_and_tick(6_000)
        finding = await encryption.look(blind)
        assert finding.level is Level.ERROR
        assert "k1" in finding.text
    assert (await claim_next(engine, "work")).input == PAYLOAD


async def test_a_store_that_was_plain(
    store: Store, other: Callable[[Codec | None], Any], engine: Engine, raw: Callable[[], bytes]
) -> None:
    """What is there stays readable, a repetition is recognised, and new things are sealed."""
    plain = await other(None)
    assert (await encryption.look(plain)).text.startswith("off")
    await plain.submit("old", input=PAYLOAD, id="one")
    assert leaks(raw())
    assert (await encryption.look(engine)).text.startswith("mixed: 1 of the newest 1")
    assert (await engine.submit("old", input=PAYLOAD, id="one")).duplicate
    claim = await claim_next(engine, "old")
    assert claim.input == PAYLOAD
    await engine.complete(claim.id, claim.lease, PAYLOAD)
    assert await engine.result("one") == PAYLOAD
    made = await engine.submit("new", input=PAYLOAD, id="new")
    assert (await encryption.look(engine)).level is Level.WARNING
    opening = await other(AesGcm({"k1": OLD}, seals=False))
    assert await opening.input(made.id) == PAYLOAD
    assert (await opening.submit("new", input=PAYLOAD, id="new")).duplicate
    again = await opening.submit("old", input=PAYLOAD)
    assert await plain.input(again.id) == PAYLOAD
    assert (await encryption.look(opening)).text.startswith("off")


async def test_repetitions_are_recognised_after_a_rotation(
    store: Store, engine: Engine, other: Callable[[Codec | None], Any]
) -> None:
    """Of executions, graphs and messages; other contents are still conflicts."""
    rotated = await other(ROTATED)
    members = {"a": NewExecution(kind="k", input=PAYLOAD)}
    await engine.queues.define("q")

    async def submit_all(to: Engine) -> list[bool]:
        return [
            (await to.submit("k", input=PAYLOAD, id="one")).duplicate,
            (await to.submit("k", input=PAYLOAD, idempotency_key="key")).duplicate,
            (await to.submit("k", input=PAYLOAD, id="two", idempotency_key="both")).duplicate,
            (await to.graphs.submit(members, idempotency_key="graph")).duplicate,
            (await to.queues.push("q", PAYLOAD, id="m")).duplicate,
        ]

    assert await submit_all(engine) == [False] * 5
    assert await submit_all(engine) == [True] * 5
    assert await submit_all(rotated) == [True] * 5
    assert await rotated.store.executions.is_repetition(
        NewExecution(kind="k", input=PAYLOAD, id="one")
    )
    with pytest.raises(IdConflict):
        await rotated.submit("k", input=b"1", id="one")
    with pytest.raises(IdempotencyConflict):
        await rotated.submit("k", input=b"1", idempotency_key="key")
    made = await rotated.submit("k", input=PAYLOAD)
    with pytest.raises(PayloadUnreadable, match="k2"):
        await engine.input(made.id)
    assert (await encryption.look(rotated)).level is Level.OK


async def test_digests_of_payloads_cannot_be_guessed(
    store: Store, engine: Engine, other: Callable[[Codec | None], Any], raw: Callable[[], bytes]
) -> None:
    """The digest that a process without a key would store is not there."""
    item = NewExecution(kind="k", input=b"4711", id="one")
    await engine.submit("k", input=b"4711", id="one")
    assert item.digest().encode() not in raw()


async def test_ciphertext_that_was_moved_or_altered(
    store: Store, engine: Engine, single_server: TestServer
) -> None:
    """A result does not open as that of another execution, and a damaged one not at all."""
    if store.client.cluster:
        return
    ids = []
    for number in range(2):
        await engine.submit("k", input=LARGE, tenant=f"t{number}")
        claim = await claim_next(engine, "k")
        await engine.complete(claim.id, claim.lease, LARGE)
        ids.append(claim.id)
    (tag,) = store.tags()
    keys = [f"{tag}:{part}:{execution_id}" for part in "ir" for execution_id in ids]
    with single_server.raw() as client:
        for key, stolen in zip(keys, client.mget(keys[1::-1] + keys[:1:-1]), strict=True):
            client.set(key, stolen)
    for execution_id in ids:
        for read in (engine.input, engine.result):
            with pytest.raises(PayloadUnreadable, match="altered or moved"):
                await read(execution_id)
    finding = await encryption.look(engine)
    assert (finding.level, "k1" in finding.text) == (Level.ERROR, True)


async def test_a_consumer_without_the_key_returns_messages(
    store: Store, engine: Engine, other: Callable[[Codec | None], Any]
) -> None:
    """Each read uses up an attempt, so that what nobody can read becomes a dead letter."""
    await engine.queues.define("q", max_attempts=3, dead_letter="dead")
    await engine.queues.push("q", PAYLOAD)
    blind = await other(None)
    for _ in range(2):
        with pytest.raises(PayloadUnreadable):
            await blind.queues.read("q", count=1, consumer="c")
    (handed,) = await engine.queues.read("q", count=1, consumer="c")
    assert (handed.message.payload, handed.message.attempt) == (PAYLOAD, 3)


async def test_a_scheduler_needs_no_key(
    store: Store, engine: Engine, clock: Clock, other: Callable[[Codec | None], Any]
) -> None:
    """It hands the sealed input on; a list shows the other fields."""
    item = NewExecution(kind="tick", input=PAYLOAD)
    plan = NewSchedule.from_fields({"id": "hourly", "cron": "0 * * * *", "execution": item})
    await engine.schedules.create(plan)
    await engine.schedules.put(plan)
    assert (await engine.schedules.get("hourly")).version == 1
    blind = await other(None)
    assert [one.id for one in (await blind.schedules.list()).items] == ["hourly"]
    with pytest.raises(PayloadUnreadable):
        await blind.schedules.get("hourly")
    await clock.advance(3_600_000)
    firing = Firing(blind.store)
    assert sum([await firing.run_due(tag) for tag in blind.store.tags()]) == 1
    assert (await claim_next(engine, "tick")).input == PAYLOAD
