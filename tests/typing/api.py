"""Checked by mypy, not run: every wrong use must be an error, or its ignore is unused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from holdfast import (
    Answer,
    App,
    Backoff,
    Chat,
    ChatMessage,
    Context,
    Conversation,
    Handle,
    Join,
    OutgoingReply,
    RetryPolicy,
    SyncChat,
    SyncClient,
    SyncContext,
    WorkerSettings,
    use,
)
from holdfast.model.frames import Frame
from holdfast.model.states import State
from holdfast.worker.graphs import Graph, Node
from holdfast.worker.sync import SyncHandle

app = App()


@dataclass
class Receipt:
    """A typed result."""

    total: float


async def database() -> AsyncIterator[str]:
    """Yield a resource."""
    yield "db"


@app.task
async def async_plain(order: int, note: str = "") -> Receipt:
    """An async task without context."""
    return Receipt(order + len(note))


@app.task
async def async_context(ctx: Context, order: int, note: str = "") -> Receipt:
    """An async task with context."""
    return Receipt(order + len(note) + ctx.attempt)


@app.task
def sync_plain(order: int, note: str = "") -> Receipt:
    """A plain task without context."""
    return Receipt(order + len(note))


@app.task
def sync_context(ctx: SyncContext, order: int, note: str = "") -> Receipt:
    """A plain task with context."""
    return Receipt(order + len(note) + ctx.attempt)


@app.task(name="a", retries=3, timeout=timedelta(minutes=1), requires=["gpu"])
async def async_options(order: int) -> Receipt:
    """An async task with options."""
    return Receipt(order)


@app.task(name="b", retries=RetryPolicy(max_attempts=2, backoff=Backoff(jitter=0.5)))
async def async_context_options(ctx: Context, order: int) -> Receipt:
    """An async task with options and context."""
    return Receipt(order + ctx.attempt)


@app.task(name="c", pool="process", delay=1.5)
def sync_options(order: int) -> Receipt:
    """A plain task with options."""
    return Receipt(order)


@app.task(name="d", tags={"a": "b"})
def sync_context_options(ctx: SyncContext, order: int, *, dry: bool = False) -> Receipt:
    """A plain task with options, context and a keyword-only argument."""
    return Receipt(order + ctx.attempt + dry)


@app.task
async def nothing(db: str = use(database)) -> None:
    """A task without a result that uses a resource."""


async def handles_are_typed() -> None:
    """By the return hint, for every kind of function."""
    assert_type(await async_plain.submit(1), Handle[Receipt])
    assert_type(await async_context.submit(1, note="x"), Handle[Receipt])
    assert_type(await sync_plain.submit(order=1), Handle[Receipt])
    assert_type(await sync_context.submit(1, "x"), Handle[Receipt])
    assert_type(await async_options.submit(1), Handle[Receipt])
    assert_type(await async_context_options.submit(1), Handle[Receipt])
    assert_type(await sync_options.submit(1), Handle[Receipt])
    assert_type(await sync_context_options.submit(1, dry=True), Handle[Receipt])
    assert_type(await nothing.submit(), Handle[None])

    handle = await async_context.submit(1)
    assert_type(await handle.result(), Receipt)
    assert_type(await handle.result(timeout=5), Receipt)
    assert_type(await handle.result(timeout=timedelta(seconds=5)), Receipt)
    assert_type(await handle.state(), State)
    assert_type((await handle.result()).total, float)
    assert_type(await sync_plain.submit_many([{"order": 1}]), list[Handle[Receipt]])
    assert_type(sync_plain.handle("x1"), Handle[Receipt])
    assert_type(await async_options.options(priority=1, delay=2).submit(1), Handle[Receipt])
    wider: Handle[object] = handle
    assert wider


async def wrong_arguments_are_errors() -> None:
    """As for the function itself, but for the context."""
    await async_plain.submit("x")  # type: ignore[arg-type]
    await async_plain.submit()  # type: ignore[call-arg]
    await async_plain.submit(1, nota="x")  # type: ignore[call-arg]
    await async_context.submit("x")  # type: ignore[arg-type]
    await async_context.submit(1, 2)  # type: ignore[arg-type]
    await sync_plain.submit(order="x")  # type: ignore[arg-type]
    await sync_context.submit("x")  # type: ignore[arg-type]
    await async_options.submit("x")  # type: ignore[arg-type]
    await async_context_options.submit("x")  # type: ignore[arg-type]
    await sync_options.submit("x")  # type: ignore[arg-type]
    await sync_context_options.submit(1, dry="x")  # type: ignore[arg-type]
    await async_options.options(priority="high").submit(1)  # type: ignore[arg-type]
    async_options.options(prioritty=1)  # type: ignore[call-arg]
    text: str = await (await sync_plain.submit(1)).result()  # type: ignore[assignment]
    assert text


async def functions_stay_callable(ctx: Context, plain: SyncContext) -> None:
    """With the context, if they have one."""
    assert_type(await async_plain(1), Receipt)
    assert_type(await async_context(ctx, 1), Receipt)
    assert_type(sync_plain(1), Receipt)
    assert_type(sync_context(plain, 1), Receipt)
    coroutine: Coroutine[Any, Any, Receipt] = async_options(1)
    await coroutine


async def the_context_is_typed(ctx: Context) -> None:
    """Steps by their function, children by their task."""

    async def fetch(user: int) -> list[str]:
        return [str(user)]

    def count(names: list[str], factor: float) -> float:
        return len(names) * factor

    assert_type(await ctx.step("fetch", fetch, 1), list[str])
    assert_type(await ctx.step("count", count, ["a"], 2.0, retries=3), float)
    assert_type(await ctx.step("none", lambda: None), None)
    assert_type(await ctx.gather(ctx.step("a", fetch, 1), ctx.step("b", fetch, 2)), list[list[str]])
    child = await ctx.submit(async_context, 1, note="x")
    assert_type(child, Handle[Receipt])
    assert_type(await ctx.result(child), Receipt)
    assert_type(await ctx.result(await ctx.submit(sync_plain, 1)), Receipt)
    await ctx.step("fetch", fetch, "x")  # type: ignore[arg-type]
    await ctx.submit(async_context, "x")  # type: ignore[arg-type]
    await ctx.sleep(b"1")  # type: ignore[arg-type]


def the_sync_context_is_typed(ctx: SyncContext) -> None:
    """As the other, without awaiting."""

    def count(names: list[str], factor: float) -> float:
        return len(names) * factor

    assert_type(ctx.step("count", count, ["a"], 2.0), float)
    assert_type(ctx.submit(sync_context, 1), Handle[Receipt])
    assert_type(ctx.result(ctx.submit(async_plain, 1)), Receipt)
    ctx.step("count", count, "x", 2.0)  # type: ignore[arg-type]
    ctx.submit(sync_context, "x")  # type: ignore[arg-type]


def the_blocking_side_is_typed() -> None:
    """The client and `app.run`."""
    with SyncClient(app) as client:
        handle = client.submit(async_context, 1)
        assert_type(handle, SyncHandle[Receipt])
        assert_type(handle.result(timeout=5), Receipt)
        assert_type(client.submit_many(sync_plain, [{"order": 1}]), list[SyncHandle[Receipt]])
        client.submit(async_context, "x")  # type: ignore[arg-type]
    assert_type(app.run(sync_context, 1), Receipt)
    assert_type(app.run(async_plain, order=1), Receipt)
    app.run(sync_context, "x")  # type: ignore[arg-type]


def wrong_options_are_errors() -> None:
    """Misspelt or of the wrong type."""
    app.task(retires=3)  # type: ignore[call-overload]
    app.task(retries="3")  # type: ignore[call-overload]
    app.task(pool="banana")  # type: ignore[call-overload]
    WorkerSettings(slots="4")  # type: ignore[arg-type]


async def streams(ctx: Context, plain: SyncContext, handle: Handle[Receipt]) -> None:
    """What is streamed and read."""
    await ctx.stream.text("a", live=True)
    await ctx.stream.text(b"a")  # type: ignore[arg-type]
    await ctx.stream.bytes(b"a")
    await ctx.stream.summary({"a": None})
    plain.stream.log("a", level="info", extra=1)
    async for frame in handle.stream(after=3):
        assert_type(frame, Frame)
    assert_type(await handle.summary(), dict[str, Any])


@app.schedule(cron="0 6 * * *", overlap="skip")
@app.task
async def scheduled(order: int = 1) -> Receipt:
    """A task keeps its type under a schedule."""
    return Receipt(order)


@app.schedule(every=60, overlap="never")  # type: ignore[arg-type]
@app.task
async def scheduled_wrongly() -> None:
    """No such policy."""


async def submit_scheduled() -> None:
    """It can be submitted as ever."""
    assert_type(await scheduled.submit(2), Handle[Receipt])


receipts = app.queue("receipts", Receipt)


@app.consumer("receipts", group="mail", retries=2)
async def consume(receipt: Receipt) -> None:
    """Consume a typed message."""
    assert_type(receipt, Receipt)


async def queues() -> None:
    """Messages keep their type."""
    await receipts.push(Receipt(1.0), key="k", delay=timedelta(seconds=1))
    await receipts.push(5)  # type: ignore[arg-type]
    await receipts.push(Receipt(1.0), colour="red")  # type: ignore[call-arg]
    for received in await receipts.read(consumer="c", wait=1):
        assert_type(received.value, Receipt)
        await received.ack(receipts.pushing(received.value))
        await received.ack("no effect")  # type: ignore[arg-type]
    assert_type(await consume.submit(Receipt(1.0)), Handle[None])


async def graphs_are_typed(ctx: Context) -> None:
    """Nodes know the results of their tasks; arguments may be nodes, so they are not checked."""
    async with app.graph(deadline=60) as graph:
        node = graph.add(async_context, 1)
        assert_type(node, Node[Receipt])
        assert_type(graph.map(sync_plain, [1, 2]), list[Node[Receipt]])
        assert_type(graph.reduce(sync_plain, [node], join=Join.any()), Node[Receipt])
        graph.add(async_context, 1, after=[node, node.failed], join="any")  # type: ignore[arg-type]
    assert_type(await node.result(), Receipt)
    assert_type(await graph.result(timeout=5), dict[str, Any])
    assert_type(ctx.graph(), Graph)


@app.conversation
async def async_conversation(chat: Chat, state: int = 0) -> None:
    """A conversation is typed as a context with messages."""
    assert_type(chat.message, ChatMessage)
    assert_type(await chat.receive(timeout="2d"), ChatMessage)
    assert_type(await chat.ask("Name?"), Answer[str])
    assert_type(await chat.ask("How many?", type=int), Answer[int])
    assert_type((await chat.ask("What?", type=Receipt)).value, Receipt)
    assert_type(await chat.choose("Which?", ["a", "b"]), str)
    assert_type(await chat.state.get("n", 0), int)
    assert_type(await chat.step("double", lambda: 2 * state), int)
    async with chat.typing() as out:
        await out.write("a")
    await chat.ask("When?", timeout=b"2d")  # type: ignore[call-overload]
    await chat.say(5)  # type: ignore[arg-type]
    await chat.continue_as(state + 1)


@app.conversation(name="plain", busy="merge", apology="Oh.", retries=3)
def sync_conversation(chat: SyncChat) -> None:
    """As the other, without awaiting."""
    assert_type(chat.receive(), ChatMessage)
    assert_type(chat.ask("How many?", type=int), Answer[int])
    assert_type(chat.choose("Which?", {"a": "A"}), str)
    with chat.typing() as out:
        out.write("a")


@app.sender("mail")
async def send_mail(reply: OutgoingReply) -> None:
    """A sender stays a function."""
    assert_type(reply.idempotency_key, str)


app.conversation(busy="sometimes")  # type: ignore[call-overload]


async def conversations_are_typed() -> None:
    """They are tasks that messages are sent to."""
    conversation: Conversation[Any, None, Any] = async_conversation
    assert_type(conversation.name, str)
    answer = await async_conversation.send("hi", user="ann")
    assert_type(answer.replies[0].text, str)
