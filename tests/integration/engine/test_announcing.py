"""Webhooks that announce waitpoints: signed, retried, dead letters, crashes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiohttp import web

from holdfast.engine.announcing import LEASE_MS, Announcer
from holdfast.engine.courier import Courier
from holdfast.engine.engine import Engine
from holdfast.engine.posting import HOSTS_VARIABLE, NotDelivered, Poster, check_address
from holdfast.errors import ExecutionNotFound, IdempotencyConflict
from holdfast.model.executions import Execution, Failure, NewExecution
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewSignal, NewWaitpoint
from holdfast.model.webhooks import KIND, LANE, verify
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer
from tests.integration.engine.test_waitpoints import running, waiting
from tests.support.lifecycle import claim_one


class Receiver:
    """A web server that keeps what it is sent, and answers as a test says."""

    def __init__(self) -> None:
        self.came: list[tuple[dict[str, str], bytes]] = []
        #: The answers to come; then 204.
        self.answers: list[int] = []
        #: Cleared, it does not answer.
        self.ready = asyncio.Event()
        self.ready.set()
        self.url = ""

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        """Keep a message."""
        self.came.append((dict(request.headers), await request.read()))
        await self.ready.wait()
        return web.Response(status=self.answers.pop(0) if self.answers else 204)

    async def messages(self, count: int) -> list[Any]:
        """Wait for messages and return their bodies."""

        async def arrived() -> bool:
            return len(self.came) >= count

        await wait_for(arrived)
        return [msgspec.json.decode(body) for _, body in self.came]


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Receiver]:
    """A receiver on this machine, which the environment allows."""
    monkeypatch.setenv(HOSTS_VARIABLE, "127.0.0.1")
    monkeypatch.setenv("HOLDFAST_PUBLIC_URL", "https://holdfast.example/")
    receiver = Receiver()
    runner = web.ServerRunner(web.Server(receiver))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}/hook?key=hidden"
    yield receiver
    receiver.ready.set()
    await runner.cleanup()


@contextlib.asynccontextmanager
async def announcing(engine: Engine) -> AsyncIterator[asyncio.Task[None]]:
    """Run an announcer."""
    announcer = Announcer(engine.store, engine.executions, engine.keyring, engine.webhooks)
    task = asyncio.ensure_future(announcer.run())
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def ended(engine: Engine, delivery_id: str) -> Execution:
    """Wait for the end of a delivery."""

    async def has_ended() -> bool:
        try:
            return await engine.outcome(delivery_id) is not None
        except ExecutionNotFound:
            return False

    await wait_for(has_ended)
    return await engine.describe(delivery_id)


def asked(receiver: Receiver, **fields: Any) -> NewWaitpoint:
    """Return a waitpoint that a webhook announces."""
    return NewWaitpoint(name="release", on_open=receiver.url, **fields)


async def test_a_webhook_gives_each_person_their_link(engine: Engine, receiver: Receiver) -> None:
    """Signed for its tenant; the tokens in it count; neither address nor token is stored."""
    point = asked(receiver, answerers=("ann", "ben"), personal=True, title="Release?")
    condition = {"count": 2, "distinct": "sources", "of": [{"waitpoint": "release"}]}
    async with announcing(engine):
        _, (made,) = await waiting(
            engine, point, condition=condition, fields={"tenant": "acme"}, timeout_ms=60_000
        )
        (message,) = await receiver.messages(1)
        delivery = await ended(engine, made.id.replace("~w", "~~h"))
    ((headers, body),) = receiver.came
    secret = await engine.webhooks.secret("acme")
    assert verify(secret, headers, body, time.time()) == delivery.id
    assert (delivery.kind, delivery.lane, delivery.tenant) == (KIND, LANE, "acme")
    assert await engine.result(delivery.id) == b'{"status":204}'
    assert (message["type"], message["execution"]["id"]) == (
        "waitpoint.opened",
        made.execution_id,
    )
    assert message["waitpoint"]["title"] == "Release?"
    assert message["waitpoint"]["until_ms"] is not None
    assert message["tokens"] == {name: one.reveal() for name, one in made.tokens.items()}
    for person, link in message["links"].items():
        assert link == f"https://holdfast.example/answer/{made.id}#{message['tokens'][person]}"
    signal = NewSignal(waitpoint=made.id, name="approve")
    assert await engine.waitpoints.signal(signal, message["tokens"]["ann"]) is Effect.APPENDED
    assert b"hidden" not in await engine.input(delivery.id)


async def test_a_message_is_tried_again_until_it_arrives(
    engine: Engine, receiver: Receiver, clock: Clock
) -> None:
    """With the same id, later and later; a prepared waitpoint is announced when it is made."""
    receiver.answers = [503, 302]
    async with announcing(engine):
        claim = await running(engine)
        (made,) = await engine.waitpoints.prepare(claim.id, claim.lease, [asked(receiver)])
        for tries in (1, 2):
            await receiver.messages(tries)

            async def is_delayed() -> bool:
                found = await engine.describe(f"{claim.id}~~h1")
                return found.state is State.DELAYED

            await wait_for(is_delayed)
            await clock.advance_and_tick(10_000)
        messages = await receiver.messages(3)
        await ended(engine, f"{claim.id}~~h1")
    assert {headers["webhook-id"] for headers, _ in receiver.came} == {f"{claim.id}~~h1"}
    assert made.token is not None
    assert messages[2]["token"] == made.token.reveal()
    attempts = await engine.attempts(f"{claim.id}~~h1")
    assert [one.error and one.error["message"] for one in attempts] == [
        "127.0.0.1 answered with 503",
        "127.0.0.1 answered with 302",
        None,
    ]


async def test_a_dead_letter_is_a_failed_execution(engine: Engine, receiver: Receiver) -> None:
    """It says why, and a replay sends it again."""
    receiver.answers = [410]
    async with announcing(engine):
        claim, _ = await waiting(engine, asked(receiver))
        dead = await ended(engine, f"{claim.id}~~h1")
        assert (dead.state, dead.error and dead.error["type"]) == (State.FAILED, "NotDelivered")
        await engine.replay(dead.id)
        await receiver.messages(2)
        assert (await ended(engine, dead.id)).state is State.COMPLETED


async def test_a_process_that_dies_before_the_courier(engine: Engine, receiver: Receiver) -> None:
    """The entry is in the outbox with the waitpoint; carried twice, it is one message."""
    claim = await running(engine)
    item = asked(receiver, key="k")
    await engine.store.waitpoints.prepare(claim.id, claim.lease.fence, [item])
    await engine.store.waitpoints.prepare(claim.id, claim.lease.fence, [item])
    tag = engine.store.tag_of(claim.id)
    entries = await engine.store.outboxes.read(tag)
    assert entries == [f"h\n{claim.id}~w1".encode()]
    for _ in range(2):
        await engine.courier._carry(tag, entries)
    assert await engine.store.outboxes.read(tag) == []
    async with announcing(engine):
        await ended(engine, f"{claim.id}~~h1")
    assert len(receiver.came) == 1


async def test_a_process_that_dies_while_it_calls(
    engine: Engine, receiver: Receiver, clock: Clock
) -> None:
    """Its lease ends, and another process sends the message again, with the same id."""
    receiver.ready.clear()
    async with announcing(engine):
        claim, _ = await waiting(engine, asked(receiver))
        await receiver.messages(1)
    receiver.ready.set()
    await clock.advance_and_tick(LEASE_MS + 1)
    async with announcing(engine):
        await ended(engine, f"{claim.id}~~h1")
    first, second = (headers["webhook-id"] for headers, _ in receiver.came)
    assert first == second


#: A process that delivers until it is killed.
PROCESS = """
import asyncio, sys
from holdfast.engine import open_engine
from holdfast.store.store import StoreSettings

async def main():
    async with open_engine(sys.argv[1], StoreSettings(fake_clock=True)):
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_process_that_is_killed_while_it_calls(
    single_server: TestServer, single_store: Store, receiver: Receiver
) -> None:
    """The same with a real process and `kill -9`: nothing is lost, and the end is announced."""
    engine, clock = Engine(single_store), Clock(single_store)
    one = (await engine.submit("work", on_end=receiver.url)).id
    claim = await claim_one(single_store, one)
    await engine.complete(one, claim.lease)
    receiver.ready.clear()
    url = f"valkey://127.0.0.1:{single_server.port}?prefix={single_store.prefix}&partitions=1"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", PROCESS, url)
    await receiver.messages(1)
    process.kill()
    await process.wait()
    receiver.ready.set()
    await clock.advance_and_tick(LEASE_MS + 1)
    async with announcing(engine):
        await receiver.messages(2)
        (delivery,) = {headers["webhook-id"] for headers, _ in receiver.came}
        assert (await ended(engine, delivery)).reclaims == 1
    await engine.close()


async def test_nothing_is_announced_that_is_over_or_anothers(
    engine: Engine, receiver: Receiver
) -> None:
    """Closed waitpoints, and executions of this kind that somebody else submitted."""
    claim, (point,) = await waiting(engine, asked(receiver), fields={"tenant": "acme"})
    await engine.courier.settle()
    await engine.waitpoints.revoke(point.id)
    _, (other,) = await waiting(engine, asked(receiver), fields={"tenant": "acme"})
    message = msgspec.json.encode({"what": "waitpoint", "id": other.id})
    forged = await engine.submit(KIND, lane=LANE, input=message, tenant="evil", check=False)
    async with announcing(engine):
        for delivery, why in (
            (f"{claim.id}~~h1", "the waitpoint is closed: revoked"),
            (forged.id, "nothing is to be announced"),
        ):
            await ended(engine, delivery)
            result = msgspec.json.decode(await engine.result(delivery))
            assert result == {"skipped": why}
        await ended(engine, other.id.replace("~w", "~~h"))
    assert len(receiver.came) == 1


async def test_an_address_inside_the_network_is_refused(
    engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the environment lists it; by name, too."""
    monkeypatch.setenv(HOSTS_VARIABLE, "*.internal")
    _, port = receiver.url.split("/")[2].split(":")
    async with announcing(engine):
        for url in (
            receiver.url,
            f"http://localhost:{port}/",
            f"http://[::ffff:127.0.0.1]:{port}/",
            # Clients read both as 127.0.0.1, without asking a resolver.
            f"http://\uff11\uff12\uff17.0.0.1:{port}/",
            f"http://127\u30020\u30020\u30021:{port}/",
        ):
            claim, _ = await waiting(engine, NewWaitpoint(name="gate", on_open=url))
            dead = await ended(engine, f"{claim.id}~~h1")
            assert dead.state is State.FAILED
            assert "not public" in str(dead.error)
    assert receiver.came == []


async def test_an_address_that_no_client_can_read_is_not_tried_again() -> None:
    """Registering it looks at its form only."""
    poster = Poster()
    with pytest.raises(NotDelivered, match="cannot be called") as refused:
        await poster.post("http://\u200d/", {}, b"{}")
    await poster.close()
    assert not refused.value.again


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fe80::1%eth0",
        "::ffff:10.0.0.1",
        "224.0.0.1",
    ],
)
def test_addresses(address: str) -> None:
    """Private, link-local, loopback and multicast ones need to be allowed by name."""
    with pytest.raises(NotDelivered, match="not public"):
        check_address("x.example", address, ("*.internal",))
    check_address("X.internal", address, ("*.internal",))
    check_address("x.example", "93.184.216.34", ())


# Ends


async def test_the_end_of_an_execution(engine: Engine, receiver: Receiver) -> None:
    """Completed, failed with its error, cancelled: each is announced once, signed, no payload."""
    async with announcing(engine):
        ids = [(await engine.submit("work", on_end=receiver.url, input=b'"in"')).id for _ in "abc"]
        done, failed, cancelled = ids
        claim = await claim_one(engine.store, done)
        for _ in range(2):
            await engine.complete(done, claim.lease, b'"out"')
        claim = await claim_one(engine.store, failed)
        failure = Failure(type="ValueError", message="no", details={"secret": 1})
        await engine.fail(failed, claim.lease, failure)
        await engine.cancel(cancelled, "not needed")
        await engine.courier.carry_all()
        messages = {one["execution"]["id"]: one for one in await receiver.messages(3)}
    shown = {name: messages[name]["execution"] for name in ids}
    assert {message["type"] for message in messages.values()} == {"execution.ended"}
    assert [shown[name]["state"] for name in ids] == ["completed", "failed", "cancelled"]
    assert shown[failed]["error"] == {"type": "ValueError", "message": "no"}
    assert shown[done]["error"] is None
    secret = await engine.webhooks.secret("default")
    for headers, body in receiver.came:
        assert verify(secret, headers, body, time.time()).startswith(tuple(ids))
        assert b'"out"' not in body
    assert len(receiver.came) == 3


async def test_the_end_of_a_graph(engine: Engine, receiver: Receiver) -> None:
    """When all members have ended; its members have webhooks of their own or none."""
    async with announcing(engine):
        members = {"a": NewExecution(kind="k"), "b": NewExecution(kind="k", on_end=receiver.url)}
        graph = await engine.graphs.submit(members, on_end=receiver.url, tenant="acme")
        for key in ("a", "b"):
            claim = await claim_one(engine.store, f"{graph.id}~{key}")
            await engine.complete(claim.id, claim.lease)
        await engine.courier.carry_all()
        messages = {one["type"]: one for one in await receiver.messages(2)}
    assert messages["graph.ended"]["graph"]["state"] == "completed"
    assert messages["graph.ended"]["graph"]["id"] == graph.id
    assert messages["execution.ended"]["execution"]["id"] == f"{graph.id}~b"


async def test_each_end_is_announced_and_an_old_one_is_not(
    engine: Engine, receiver: Receiver, clock: Clock
) -> None:
    """After a replay the first end is over; nobody else can announce an end that never was."""
    one = (await engine.submit("work", on_end=receiver.url)).id
    claim = await claim_one(engine.store, one)
    await engine.complete(one, claim.lease)
    await engine.courier.carry_all()
    first = clock.now_ms
    await clock.advance(5)
    await engine.replay(one)
    message = msgspec.json.encode({"what": "execution", "id": one, "ended_ms": clock.now_ms})
    forged = (await engine.submit(KIND, lane=LANE, input=message, check=False)).id
    async with announcing(engine):
        for delivery in (f"{one}~~e{first}", forged):
            await ended(engine, delivery)
            result = msgspec.json.decode(await engine.result(delivery))
            assert result == {"skipped": "the execution runs again, or ended again"}
        claim = await claim_one(engine.store, one)
        await engine.complete(one, claim.lease)
        await engine.courier.carry_all()
        (message,) = await receiver.messages(1)
    assert message["execution"]["ended_ms"] == clock.now_ms


async def test_a_process_that_dies_with_the_end_still_to_be_announced(
    engine: Engine, receiver: Receiver
) -> None:
    """The end and its entry are one write; without a webhook there is no entry."""
    plain = (await engine.submit("work")).id
    told = (await engine.submit("work", on_end=receiver.url)).id
    for execution_id in (plain, told):
        claim = await claim_one(engine.store, execution_id)
        await engine.store.executions.complete(claim.id, claim.lease, b"null", "")
    entries = [
        entry for tag in engine.store.tags() for entry in await engine.store.outboxes.read(tag)
    ]
    assert [entry.split(b"\n")[:2] for entry in entries] == [[b"e", told.encode()]]
    async with announcing(engine):
        await Courier(engine.store).carry_all()
        await receiver.messages(1)


async def test_a_task_declares_its_webhook(engine: Engine) -> None:
    """A repeated submission with another address is a conflict; the same one is the same."""
    fields: dict[str, Any] = {"idempotency_key": "k", "on_end": "https://a.example/"}
    first = await engine.submit("work", **fields)
    assert (await engine.submit("work", **fields)).id == first.id
    with pytest.raises(IdempotencyConflict):
        await engine.submit("work", **{**fields, "on_end": "https://b.example/"})


@pytest.mark.parametrize(
    "given",
    [
        b'"no message"',
        b'{"what":"waitpoint","id":"nothing"}',
        pytest.param(b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="deep"),
    ],
)
async def test_a_delivery_that_is_no_message_fails_and_others_are_delivered(
    engine: Engine, receiver: Receiver, given: bytes
) -> None:
    """Every client can submit one, so it must not stop the announcer."""
    await engine.submit(KIND, lane=LANE, id="wrong", input=given, check=False)
    async with announcing(engine) as task:
        failed = await ended(engine, "wrong")
        assert not task.done()
        await waiting(engine, asked(receiver))
        await receiver.messages(1)
    assert failed.state is State.FAILED
    assert failed.attempts == 1


@pytest.mark.parametrize("tenant", ["default", "acme"])
async def test_the_end_of_an_execution_with_the_longest_id(
    engine: Engine, receiver: Receiver, tenant: str
) -> None:
    """Its delivery has an id of its own, and the outbox of its partition does not stop."""
    given = await engine.submit("work", id="x" * 256, tenant=tenant, on_end=receiver.url)
    claim = await claim_one(engine.store, given.id)
    await engine.complete(given.id, claim.lease, b"1")
    await engine.courier.carry_all()
    async with announcing(engine):
        (message,) = await receiver.messages(1)
    assert message["execution"]["id"] == given.id
