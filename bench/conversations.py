"""Conversations: from a message to its reply, many at once, long ones, and parked ones."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import time
from statistics import median, quantiles

import msgspec

from bench.http import Connection, serving
from holdfast import App, Chat, WorkerSettings
from holdfast.engine import Engine
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, MessageWait, NewReply

ROUNDS = 500
AT_ONCE = 100
TURNS_EACH = 30
WARM_UP = 5
LONG = 1_000
PARKED = int(os.environ.get("HOLDFAST_PARKED", "2000"))
NAME = "echo"


def message(user: str, text: str) -> Activity:
    """A message from a user."""
    key = SessionKey(conversation=user, user=user, endpoint=NAME)
    return Activity(key=key, payload=msgspec.json.encode({"text": text}))


async def measure_conversations() -> dict[str, float]:
    """Measure one app with one worker in this process."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        app = App(f"embedded://{folder}")

        @app.conversation(name=NAME)
        async def echo(chat: Chat) -> None:
            while True:
                received = await chat.receive()
                await chat.say(received.text)

        async with app.worker(WorkerSettings(slots=400)):
            over_http = await _over_http(f"embedded://{folder}")
            engine = _near(app)
            idle = await _turns(engine, "ann", ROUNDS)
            users = [f"user{n}" for n in range(AT_ONCE)]
            # The first turns also make the sessions.
            await asyncio.gather(*(_turns(engine, user, WARM_UP) for user in users))
            start = time.perf_counter()
            await asyncio.gather(*(_turns(engine, user, TURNS_EACH) for user in users))
            seconds = time.perf_counter() - start
            early = await _turns(engine, "long", 50)
            read_early = await _bytes_out(engine)
            await _turns(engine, "long", 10)
            read_early = await _bytes_out(engine) - read_early
            await _turns(engine, "long", LONG - 60)
            read_late = await _bytes_out(engine)
            await _turns(engine, "long", 10)
            read_late = await _bytes_out(engine) - read_late
            late = await _turns(engine, "long", 50)
    return {
        "message to reply, idle, p50 ms": median(idle),
        "message to reply, idle, p99 ms": quantiles(idle, n=100)[98],
        "message to reply over HTTP, p50 ms": median(over_http),
        f"turns/s, {AT_ONCE} sessions at once": AT_ONCE * TURNS_EACH / seconds,
        f"turn {LONG:,} / turn 10, time": median(late) / median(early),
        f"turn {LONG:,} / turn 50, bytes read": read_late / read_early,
        "bytes per parked session of 5 lines": await _bytes_parked(),
    }


def _near(app: App) -> Engine:
    if not isinstance(app.engine, Engine):
        raise TypeError(app.engine)
    return app.engine


async def _turns(engine: Engine, user: str, count: int) -> list[float]:
    """Send messages one after another; returns how long each reply took, in ms."""
    latencies = []
    for number in range(count):
        start = time.perf_counter()
        answer = await engine.sessions.send(NAME, message(user, f"message {number}"))
        if len(answer.replies) != 1:
            raise RuntimeError(answer)
        latencies.append((time.perf_counter() - start) * 1000)
    return latencies


async def _over_http(store: str) -> list[float]:
    """Send messages to a server of its own, one after another; returns ms for each reply."""
    latencies = []
    async with serving(store) as (_, address):
        connection = await Connection.open(address)
        for number in range(ROUNDS):
            payload = {"text": f"message {number}"}
            activity = {"id": f"m{number}", "conversation": "bob", "user": "bob"}
            body = msgspec.json.encode({"activity": activity | {"payload": payload}})
            start = time.perf_counter()
            answer = await connection.call("POST", f"/v1/conversations/{NAME}/activities", body)
            if len(msgspec.json.decode(answer)["replies"]) != 1:
                raise RuntimeError(answer)
            latencies.append((time.perf_counter() - start) * 1000)
        connection.close()
    return latencies


async def _bytes_out(engine: Engine) -> int:
    text = (await engine.store.client.call(["INFO", "stats"])).decode()
    (count,) = re.findall(r"total_net_output_bytes:(\d+)", text)
    return int(count)


async def _bytes_parked() -> float:
    """Return the memory of a parked session with five lines, by the difference of many."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        async with App(f"embedded://{folder}") as app:
            engine = _near(app)
            await engine.tasks.publish({NAME: {"conversation": {}}})
            before = await _used(engine)
            async with engine.claimer(worker="bench", kinds=(NAME,)) as claimer:
                for turn in range(3):
                    for n in range(PARKED):
                        await engine.sessions.deliver(NAME, message(f"user{n}", f"message {turn}"))
                    parked = 0
                    while parked < PARKED:
                        for claim in await claimer.claim(100, 60_000, 1_000):
                            text = msgspec.json.encode({"text": f"reply {turn}"})
                            replies = [NewReply(step=f"say:{turn}", payload=text)] * (turn < 2)
                            wait = MessageWait(step=f"receive:{turn}", kept=True)
                            await engine.sessions.turn(claim.id, claim.lease, replies, wait)
                            parked += 1
            return (await _used(engine) - before) / PARKED


async def _used(engine: Engine) -> int:
    text = (await engine.store.client.call(["INFO", "memory"])).decode()
    (count,) = re.findall(r"used_memory_dataset:(\d+)", text)
    return int(count)
