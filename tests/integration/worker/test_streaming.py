"""Tasks that stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import App, Context, SyncClient, SyncContext
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, StoreUnavailable, TooLarge
from holdfast.model.frames import Appended, Frame
from holdfast.model.states import State
from holdfast.testing import TestApp
from holdfast.worker.handle import Handle
from holdfast.worker.worker import Worker
from tests.integration.worker.conftest import Working, at_once, near

ALSO_OVER_HTTP = True


async def collect(handle: Handle[Any], after: int = 0) -> list[Frame]:
    """Read a stream to its end."""
    return [frame async for frame in handle.stream(after=after)]


def shown(frames: list[Frame]) -> list[tuple[str, Any]]:
    """Type and payload of each frame, as JSON values where they are JSON."""
    return [
        (frame.type, frame.payload if frame.type in ("text", "bytes") else frame.json())
        for frame in frames
    ]


EXPECTED = [
    ("text", b"hello"),
    ("json", {"a": [1]}),
    ("bytes", b"\x00\xff"),
    ("log", {"n": 1, "level": "warning", "message": "careful"}),
    ("event", {"name": "done", "data": None}),
    ("summary", {"todo": ["x"]}),
    ("text", b"live"),
    ("end", {"state": "completed"}),
]


async def test_a_task_streams_all_kinds_of_frames(app: App, working: Working) -> None:
    """Each method makes one frame, in order."""

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("hello")
        await ctx.stream.json({"a": [1]})
        await ctx.stream.bytes(b"\x00\xff")
        await ctx.stream.log("careful", level="warning", n=1)
        await ctx.stream.event("done")
        await ctx.stream.summary({"todo": ["x"]})
        await ctx.stream.text("live", live=True)

    async with working():
        handle = await talk.submit()
        assert shown(await collect(handle)) == EXPECTED
        assert await handle.summary() == {"todo": ["x"]}


async def test_a_task_in_a_thread_streams_too(app: App, working: Working) -> None:
    """The same, blocking."""

    @app.task
    def talk(ctx: SyncContext) -> None:
        ctx.stream.text("hello")
        ctx.stream.json({"a": [1]})
        ctx.stream.bytes(b"\x00\xff")
        ctx.stream.log("careful", level="warning", n=1)
        ctx.stream.event("done")
        ctx.stream.summary({"todo": ["x"]})
        ctx.stream.text("live", live=True)
        ctx.stream.flush()

    async with working():
        handle = await talk.submit()
        assert shown(await collect(handle)) == EXPECTED
        assert shown(await collect(handle, after=5)) == EXPECTED[5:]


async def test_frames_are_read_while_the_task_runs(app: App, working: Working) -> None:
    """They do not wait for its end."""
    heard = asyncio.Event()

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("a")
        await heard.wait()

    async with working():
        handle = await talk.submit()
        async for frame in handle.stream():
            if frame.type == "text":
                assert await handle.state() is State.ACTIVE
                heard.set()
    assert frame.type == "end"


async def test_many_words_make_few_batches(
    app: App, engine: Engine, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word by word costs the store a batch now and then."""
    sizes: list[int] = []
    ask = engine.streams.append

    async def counted(execution_id: str, lease: Any, frames: Any, **fields: Any) -> Appended:
        sizes.append(len(frames))
        return await ask(execution_id, lease, frames, **fields)

    monkeypatch.setattr(engine.streams, "append", counted)

    @app.task
    async def talk(ctx: Context) -> None:
        for n in range(1000):
            await ctx.stream.text(f"{n} ")

    async with working():
        handle = await talk.submit()
        found = await collect(handle)
    assert "".join(f.text for f in found[:-1]) == "".join(f"{n} " for n in range(1000))
    assert sum(sizes) == 1000
    assert len(sizes) <= 8


@pytest.mark.parametrize("how", ["fails", "sleeps"])
async def test_nothing_is_lost_at_the_end_of_an_attempt(
    app: App, working: Working, how: str
) -> None:
    """What was said just before is there, whether it fails or goes on later."""

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("last words")
        if how == "fails":
            raise ValueError
        await ctx.sleep(1)

    async with working():
        handle = await talk.submit()
        frame = await anext(handle.stream())
        assert frame.text == "last words"


async def test_a_retry_says_it_again_after_a_mark(app: App, working: Working) -> None:
    """What a completed step said is not repeated: it does not run again."""

    @app.task(retries=at_once(2))
    async def talk(ctx: Context) -> None:
        async def think() -> None:
            await ctx.stream.text("thought ")

        await ctx.stream.text("intro ")
        await ctx.step("think", think)
        if ctx.attempt == 0:
            raise ValueError
        await ctx.stream.text("done")

    async with working():
        found = await collect(await talk.submit())
    assert [(f.attempt, f.type, f.payload) for f in found[:-1]] == [
        (0, "text", b"intro "),
        (0, "text", b"thought "),
        (1, "attempt", b'{"attempt":1,"kind":"retry"}'),
        (1, "text", b"intro "),
        (1, "text", b"done"),
    ]


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_an_attempt_that_goes_on_does_not_repeat_itself(
    app: App, working: Working, kind: str
) -> None:
    """The function runs again after a sleep; what it said before is there once."""
    if kind == "async":

        @app.task(name="talk")
        async def talk(ctx: Context) -> None:
            async def think() -> None:
                await ctx.stream.text("b")

            await ctx.stream.text("a")
            await ctx.stream.summary({"n": 1})
            await ctx.step("think", think)
            await ctx.stream.summary({"n": 2})
            await ctx.sleep(1)
            await ctx.stream.text("c")

        task: Any = talk
    else:

        @app.task(name="talk")
        def talk_plainly(ctx: SyncContext) -> None:
            ctx.stream.text("a")
            ctx.stream.summary({"n": 1})
            ctx.step("think", ctx.stream.text, "b")
            ctx.stream.summary({"n": 2})
            ctx.sleep(1)
            ctx.stream.text("c")

        task = talk_plainly
    async with working():
        handle = await task.submit()
        found = await collect(handle)
        assert [f.text for f in found if f.type == "text"] == ["a", "b", "c"]
        assert [f.json()["n"] for f in found if f.type == "summary"] == [1, 2]
        assert await handle.summary() == {"n": 2}


async def test_what_a_step_said_is_there_before_the_step(
    app: App, engine: Engine, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a crash right after the step would lose it for ever."""
    order: list[str] = []
    append, checkpoint = engine.streams.append, engine.executions.checkpoint

    async def note_append(*args: Any, **fields: Any) -> Any:
        order.append("frames")
        return await append(*args, **fields)

    async def note_step(*args: Any) -> Any:
        order.append("step")
        return await checkpoint(*args)

    monkeypatch.setattr(engine.streams, "append", note_append)
    monkeypatch.setattr(engine.executions, "checkpoint", note_step)

    @app.task
    async def talk(ctx: Context) -> None:
        async def think() -> None:
            await ctx.stream.text("thought")

        await ctx.step("think", think)

    async with working():
        await collect(await talk.submit())
    assert order == ["frames", "step"]


async def test_a_task_that_lost_its_lease_streams_nothing(app: App, working: Working) -> None:
    """It is stopped by its next word."""
    said: list[str] = []

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("before")
        await ctx.stream.flush()
        said.append("before")
        await app.engine.cancel(ctx.id)
        await ctx.stream.text("after")
        await ctx.stream.flush()
        said.append("after")

    async with working():
        found = await collect(await talk.submit())
    assert [f.type for f in found] == ["text", "end"]
    assert found[-1].state is State.CANCELLED
    assert said == ["before"]


@near
async def test_frames_wait_for_a_store_that_is_away(
    app: App, engine: Engine, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that failed is sent again, in order, with the same key."""
    keys: list[str] = []
    append = engine.streams.append

    async def fail_once(*args: Any, key: str, **fields: Any) -> Any:
        keys.append(key)
        if len(keys) == 1:
            raise StoreUnavailable("away")
        return await append(*args, key=key, **fields)

    monkeypatch.setattr(engine.streams, "append", fail_once)

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("a")
        with pytest.raises(StoreUnavailable):
            await ctx.stream.flush()
        await ctx.stream.text("b")

    async with working():
        found = await collect(await talk.submit())
    assert [f.text for f in found if f.type == "text"] == ["a", "b"]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    ("method", "value", "error"),
    [
        ("text", 1, InvalidInput),
        ("text", "x" * 65_537, TooLarge),
        ("bytes", "str", InvalidInput),
        ("summary", {"a": "x" * 65_536}, TooLarge),
    ],
)
async def test_a_task_is_told_what_cannot_be_streamed(
    app: App, working: Working, method: str, value: Any, error: type[Exception]
) -> None:
    """At once, and what it streams else is not affected."""

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("a")
        with pytest.raises(error):
            await getattr(ctx.stream, method)(value)
        await ctx.stream.text("b")

    async with working():
        found = await collect(await talk.submit())
    assert [f.payload for f in found[:-1]] == [b"a", b"b"]
    assert found[-1].state is State.COMPLETED


async def test_a_released_worker_repeats_nothing_elsewhere(app: App, working: Working) -> None:
    """The attempt goes on at another worker, which passes over what was said."""
    gate = asyncio.Event()
    first: list[Worker] = []

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("a")
        await ctx.stream.flush()
        if not gate.is_set():
            gate.set()
            first[0].release()
            await asyncio.Event().wait()
        await ctx.stream.text("b")

    async with working() as worker:
        first.append(worker)
        handle = await talk.submit()
        await gate.wait()
    async with working():
        found = await collect(handle)
    assert [(f.attempt, f.type) for f in found] == [(0, "text"), (0, "text"), (0, "end")]
    assert [f.text for f in found[:-1]] == ["a", "b"]


def test_code_without_a_loop_reads_a_stream(real_url: str) -> None:
    """A plain iterator."""
    app = App(real_url)

    @app.task
    def talk(ctx: SyncContext) -> None:
        for word in "abc":
            ctx.stream.text(word)
        ctx.stream.summary({"n": 3})

    with SyncClient(app) as client:
        handle = client.submit(talk)

        async def work() -> None:
            async with app.worker():
                await handle._handle.result()

        client.wait(work())
        assert [frame.payload for frame in handle.stream()][:3] == [b"a", b"b", b"c"]
        for frame in handle.stream(after=1):
            assert frame.text == "b"
            break
        assert handle.summary() == {"n": 3}


async def test_the_testing_kit_runs_tasks_that_stream() -> None:
    """Frames are there when it is idle; a killed attempt appends nothing more."""
    app = App()

    @app.task
    async def talk(ctx: Context) -> None:
        await ctx.stream.text("a")
        await ctx.step("s", int)
        await ctx.stream.text("b")

    async with TestApp(app) as test:
        test.kill_after("s")
        handle = await talk.submit()
        await test.run_until_idle()
        found = await collect(handle)
    assert [(f.attempt, f.type) for f in found] == [
        (0, "text"),
        (1, "attempt"),
        (1, "text"),
        (1, "text"),
        (1, "end"),
    ]
