"""Conversations that a worker keeps while they wait: no lease, no slot, and safe to drop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from holdfast import App, Chat, Context, OutgoingReply, WorkerSettings
from holdfast.concurrency import stop
from holdfast.engine import Engine
from holdfast.errors import ExecutionNotFound
from holdfast.model.executions import Claim
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import SessionState
from holdfast.model.states import State
from holdfast.testing.polling import wait_for
from holdfast.worker.outcomes import AttemptLost
from holdfast.worker.worker import Worker
from tests.integration.worker.conftest import LEASE_MS, near

ALSO_OVER_HTTP = True

SETTINGS = WorkerSettings(lease_ms=LEASE_MS, slots=1)


class Runs:
    """Counts how often a conversation was run from its first line, and how it ended."""

    def __init__(self) -> None:
        self.begun = 0
        self.left: list[str] = []


def declare(app: App, runs: Runs) -> Callable[..., object]:
    """Declare a conversation that echoes for ever."""

    @app.conversation
    async def echo(chat: Chat) -> None:
        runs.begun += 1
        try:
            while True:
                message = await chat.receive()
                await chat.say(message.text)
        except BaseException as error:
            runs.left.append(type(error).__name__)
            raise

    return echo


def parked(worker: Worker) -> int:
    """Return how many conversations a worker keeps."""
    return len(worker._runner.parking)


async def talk(app: App, *texts: str, user: str = "ann") -> list[str]:
    """Send messages, and return what was replied."""
    kind = app.find("echo")
    replies: list[str] = []
    for text in texts:
        answer = await kind.send(text, user=user)  # type: ignore[attr-defined]
        assert answer.done
        replies += [reply.text for reply in answer.replies]
    return replies


async def test_a_kept_conversation_continues_without_its_journal(app: App) -> None:
    """It runs once from its first line, and a single slot serves every turn."""
    runs = Runs()
    declare(app, runs)
    async with app.worker(SETTINGS) as worker:
        for user in ("ann", "ben"):
            assert await talk(app, "a", "b", "c", user=user) == ["a", "b", "c"]
        assert runs.begun == 2
        assert parked(worker) == 2
        assert worker._slots.free == 1
    assert runs.left == ["AttemptSuspended", "AttemptSuspended"]


async def test_another_worker_continues_from_the_journal(app: App, engine: Engine) -> None:
    """A drained worker drops what it kept; nothing is said twice."""
    runs = Runs()
    declare(app, runs)
    async with app.worker(SETTINGS):
        await talk(app, "a", "b")
    async with app.worker(SETTINGS):
        assert await talk(app, "c") == ["c"]
    assert runs.begun == 2
    session = SessionKey(conversation="main", user="ann", endpoint="echo").id
    transcript = await engine.sessions.transcript(session)
    assert [entry.text for entry in transcript.entries] == ["a", "a", "b", "b", "c", "c"]


async def test_a_full_cache_drops_the_one_that_waited_longest(app: App) -> None:
    """The dropped one runs again from its journal."""
    runs = Runs()
    declare(app, runs)
    async with app.worker(WorkerSettings(lease_ms=LEASE_MS, kept=1)) as worker:
        await talk(app, "a", user="ann")
        await talk(app, "a", user="ben")
        assert parked(worker) == 1
        assert await talk(app, "b", user="ann") == ["b"]
        assert runs.begun == 3


async def test_a_parked_conversation_holds_no_lease(app: App, engine: Engine) -> None:
    """It outlives many leases, and its worker renews none."""
    runs = Runs()
    declare(app, runs)
    async with app.worker(SETTINGS) as worker:
        await talk(app, "a")
        assert worker._heartbeats._held == {}
        session = await engine.sessions.get(
            SessionKey(conversation="main", user="ann", endpoint="echo").id
        )
        assert session.state is SessionState.WAITING
        assert session.execution is not None
        assert (await engine.describe(session.execution)).lease_expires_at is None


async def test_an_ended_session_starts_again_beside_its_parked_coroutine(
    app: App, engine: Engine
) -> None:
    """The coroutine of the cancelled execution never runs on."""
    runs = Runs()
    declare(app, runs)
    session = SessionKey(conversation="main", user="ann", endpoint="echo").id
    async with app.worker(SETTINGS):
        await talk(app, "a")
        await engine.sessions.end(session)
        assert await talk(app, "b") == ["b"]
        assert runs.begun == 2
    assert set(runs.left) == {"AttemptSuspended"}


async def test_an_erased_session_leaves_its_worker_healthy(app: App, engine: Engine) -> None:
    """Its parked coroutine is dropped some day, and nothing else happens."""
    runs = Runs()
    declare(app, runs)
    key = SessionKey(conversation="main", user="ann", endpoint="echo")
    async with app.worker(SETTINGS):
        await talk(app, "a")
        (session,) = (await engine.sessions.list(user="ann")).items
        await engine.sessions.erase(key.id)
        assert session.execution is not None
        with pytest.raises(ExecutionNotFound):
            await engine.describe(session.execution)
        assert await talk(app, "b") == ["b"]


async def test_a_timeout_around_a_wait_cannot_go_on_without_a_lease(app: App) -> None:
    """The coroutine ends; the message that comes later finds the journal."""
    entered: list[int] = []
    expired = asyncio.Event()

    @app.conversation
    async def hasty(chat: Chat) -> None:
        entered.append(1)
        await chat.receive()
        try:
            async with asyncio.timeout(0.05):
                await chat.receive()
        except TimeoutError:
            await chat.say("This must not be said without a lease.")
        finally:
            expired.set()
        await chat.say("late")

    async with app.worker(SETTINGS) as worker:
        await hasty.send("a", user="ann")
        await expired.wait()
        answer = await hasty.send("b", user="ann")
        assert [reply.text for reply in answer.replies] == ["late"]
        assert len(entered) == 2
        assert parked(worker) == 0


async def test_calls_of_a_background_task_fail_while_the_conversation_is_parked(
    app: App,
) -> None:
    """Without a lease nothing may be written."""
    failed: list[str] = []
    done = asyncio.Event()
    background: set[asyncio.Task[None]] = set()

    @app.conversation
    async def sneaky(chat: Chat) -> None:
        async def later() -> None:
            async def is_parked() -> bool:
                return chat.parked_at is not None

            await wait_for(is_parked)
            try:
                await chat.say("psst")
            except AttemptLost as error:
                failed.append(type(error).__name__)
                done.set()

        background.add(asyncio.ensure_future(later()))
        await chat.ask("Well?")
        await chat.say("done")

    async with app.worker(SETTINGS):
        await sneaky.send("a", user="ann")
        await done.wait()
        answer = await sneaky.send("b", user="ann")
        assert [reply.text for reply in answer.replies] == ["done"]
    assert failed == ["AttemptLost"]


async def test_a_revoked_lease_ends_the_turn_and_the_conversation_continues(
    app: App, engine: Engine
) -> None:
    """The coroutine is cancelled in the middle of its turn, and the journal decides."""
    runs: list[str] = []
    reached = asyncio.Event()

    @app.conversation
    async def slow(chat: Chat) -> None:
        await chat.receive()
        await chat.say("one")
        await chat.receive()
        await chat.say("two")
        runs.append("slow")
        if len(runs) == 1:
            await chat.step("mark", lambda: None)
            reached.set()
            await asyncio.Event().wait()
        else:
            await chat.step("mark", lambda: None)
        await chat.say("three")

    session = SessionKey(conversation="main", user="ann", endpoint="slow").id
    async with app.worker(SETTINGS):
        await slow.send("a", user="ann")
        sending = asyncio.ensure_future(slow.send("b", user="ann"))
        await reached.wait()
        execution = (await engine.sessions.get(session)).execution
        assert execution is not None
        await engine.revoke_lease(execution, "test")
        assert [reply.text for reply in (await sending).replies] == ["two", "three"]
    assert runs == ["slow", "slow"]


async def test_an_interrupted_turn_stops_at_once(app: App) -> None:
    """The worker that starts the next execution of the session cancels the one before."""
    stopped: list[tuple[str, bool]] = []
    begun = asyncio.Event()

    @app.conversation(busy="interrupt")
    async def thinker(chat: Chat) -> None:
        if chat.message.text == "quick":
            await chat.say("done")
            return
        await chat.say("thinking")
        await chat.step("think", lambda: None)
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append((chat.message.text, chat.interrupted))
            raise

    async with app.worker(WorkerSettings(lease_ms=60_000)) as worker:
        slow = asyncio.ensure_future(thinker.send("slow", user="ann", wait=30))
        await begun.wait()
        answer = await thinker.send("quick", user="ann")
        assert [reply.text for reply in answer.replies] == ["done"]
        assert [reply.text for reply in (await slow).replies] == ["thinking"]
        assert stopped == [("slow", True)]

        async def is_free() -> bool:
            return worker._slots.busy == 0

        await wait_for(is_free)


@near
async def test_the_senders_of_an_app_deliver_replies(app: App) -> None:
    """In order, each with a key that is the same for every try."""
    declare(app, Runs())
    sent: list[str] = []
    keys: list[str] = []

    @app.sender("mail")
    async def send(reply: OutgoingReply) -> None:
        keys.append(reply.idempotency_key)
        if len(keys) == 1:
            raise ConnectionError
        sent.append(reply.value["text"])

    async with app.worker(SETTINGS):
        for text in ("a", "b"):
            await app.find("echo").send(text, user="ann", sender="mail")  # type: ignore[attr-defined]

        async def are_sent() -> bool:
            return sent == ["a", "b"]

        await wait_for(are_sent)
    assert keys[0] == keys[1] != keys[2]


async def test_two_workers_share_racing_sessions(app: App, engine: Engine) -> None:
    """Every message is answered once and in order, whoever keeps the coroutine."""
    runs = Runs()
    declare(app, runs)
    users = [f"user{n}" for n in range(20)]
    texts = [str(n) for n in range(5)]

    async def converse(user: str) -> list[str]:
        return await talk(app, *texts, user=user)

    async with (
        app.worker(WorkerSettings(lease_ms=LEASE_MS, kept=5)),
        app.worker(WorkerSettings(lease_ms=LEASE_MS, kept=5)),
    ):
        assert await asyncio.gather(*map(converse, users)) == [texts] * len(users)


async def test_an_endless_task_continues_as_itself(app: App) -> None:
    """`ctx.continue_as` keeps the id and empties the journal; children get new ids."""

    @app.task
    async def double(n: int) -> int:
        return 2 * n

    @app.task
    async def grow(ctx: Context, n: int, rounds: int = 0) -> int:
        child = await ctx.submit(double, n)
        doubled = await ctx.step("result", lambda: 0) + await ctx.result(child)
        await ctx.stream.text(f"{doubled} ")
        if rounds < 3:
            await ctx.continue_as(doubled, rounds=rounds + 1)
        return doubled

    async with app.worker(WorkerSettings(lease_ms=LEASE_MS)):
        handle = await grow.submit(1)
        assert await handle.result(timeout=10) == 16
        frames = [frame async for frame in handle.stream()]
        assert "".join(f.text for f in frames if f.type == "text") == "2 4 8 16 "

        async def one_step() -> bool:
            return len(await app.engine.steps(handle.id)) == 1

        await wait_for(one_step)


async def test_releasing_stops_a_turn_that_is_about_to_begin(
    app: App, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks for its coroutine, or reads its journal: its code does not run any more."""
    begun: list[str] = []

    @app.conversation
    async def thinker(chat: Chat) -> None:
        begun.append(chat.id)
        await asyncio.Event().wait()

    worker = Worker(app, WorkerSettings(lease_ms=60_000))

    async def take(_claim: Claim, _session: str) -> None:
        worker.release()

    monkeypatch.setattr(worker._runner.parking, "take", take)
    running = asyncio.ensure_future(worker.run())
    await worker.wait_started(running)
    sending = asyncio.ensure_future(thinker.send("hello", user="ann", wait=30))
    try:
        await asyncio.wait_for(running, 5)
    finally:
        await stop(sending)
    assert begun == []
    (session,) = (await engine.list()).items
    assert session.state is State.WAITING
