"""Flows: nodes and turns per second, and how long a pack takes to check and to load."""

from __future__ import annotations

import asyncio
import tempfile
import time
from typing import Any

import msgspec

from holdfast import App, Chat, WorkerSettings
from holdfast.engine import Engine
from holdfast.host.flows.declaring import declare_flow
from holdfast.host.flows.expressions import compile_expression
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.lint import lint_files
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity

AT_ONCE = 50
TURNS_EACH = 30
ROUNDS = 3
FILES = 50

THREE = """
id: three
type: messaging
vars: {n: {default: 0}}
nodes:
  wait: {wait: {}, out: count}
  count: {set: {n: "{{ vars.n + 1 }}"}, out: say}
  say: {emit: {text: "{{ vars.n }}: {{ input.text }}"}, out: wait}
"""


def _twenty() -> str:
    """Return a flow of twenty nodes that reach nothing outside."""
    lines = ["id: twenty", "type: messaging", "vars: {n: {default: 0}}", "nodes:"]
    lines.append("  wait: {wait: {}, out: n0}")
    for number in range(18):
        routes = f'[{{when: "vars.n < 0", to: end}}, {{to: n{number + 1}}}]'
        lines.append(f'  n{number}: {{set: {{n: "{{{{ vars.n + 1 }}}}"}}, out: {routes}}}')
    lines.append('  n18: {emit: {text: "{{ vars.n }}"}, out: wait}')
    return "\n".join(lines)


async def measure_flows() -> dict[str, float]:
    """Measure flows on an embedded store, with one worker in this process."""
    flows = Flows.load({"three.yaml": THREE, "twenty.yaml": _twenty()})
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        app = App(f"embedded://{folder}")

        @app.conversation(name="plain")
        async def plain(chat: Chat) -> None:
            count = 0
            while True:
                message = await chat.receive()
                count += 1
                await chat.say(f"{count}: {message.text}")

        for entry in ("three", "twenty"):
            declare_flow(app, flows, entry)
        async with app.worker(WorkerSettings(slots=400)):
            engine = app.engine
            if not isinstance(engine, Engine):
                raise TypeError(engine)
            best: dict[str, float] = {}
            for number in range(ROUNDS):
                for name in ("plain", "three", "twenty"):
                    rate = await _rate(engine, name, number)
                    best[name] = max(best.get(name, 0.0), rate)
    return {
        "turns/s, conversation of the SDK": best["plain"],
        "turns/s, flow of 3 nodes": best["three"],
        "flow of 3 nodes / SDK": best["three"] / best["plain"],
        "nodes/s, flow of 20 nodes": best["twenty"] * 20,
        **_pack_times(),
    }


async def _rate(engine: Engine, name: str, number: int) -> float:
    async def talk(user: str) -> None:
        for turn in range(TURNS_EACH):
            key = SessionKey(conversation=user, user=user, endpoint=name)
            payload: Any = msgspec.json.encode({"text": f"message {turn}"})
            await engine.sessions.send(name, Activity(key=key, payload=payload))

    start = time.perf_counter()
    await asyncio.gather(*(talk(f"user{number}-{n}") for n in range(AT_ONCE)))
    return AT_ONCE * TURNS_EACH / (time.perf_counter() - start)


def _pack_times() -> dict[str, float]:
    files = {
        f"{number}.yaml": _twenty().replace("id: twenty", f"id: flow{number}")
        for number in range(FILES)
    }
    compile_expression.cache_clear()
    start = time.perf_counter()
    lint_files(files)
    linted = time.perf_counter()
    compile_expression.cache_clear()
    again = time.perf_counter()
    Flows.load(files)
    return {
        f"lint of {FILES} flows of 20 nodes, ms": (linted - start) * 1000,
        f"load of {FILES} flows of 20 nodes, ms": (time.perf_counter() - again) * 1000,
    }
