"""The command line in this process, against a store and against a server of that store."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from holdfast.cli.main import run
from holdfast.engine import Engine, open_engine
from holdfast.model.bulk import BulkAction, NewBulk
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.executions import Claim, Failure
from holdfast.model.frames import NewFrame
from holdfast.model.listing import Filter
from holdfast.model.revisions import Gate
from holdfast.model.rollouts import Step
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, MessageWait, NewReply
from holdfast.model.states import State
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server
from tests.support.graphs import edges, members
from tests.support.scheduling import plan

#: What differs between any two runs: tokens, minted ids and names, fingerprints, times and spans.
_VARYING = (
    (re.compile(r"\bhf1\.[\w.-]+"), "TOKEN"),
    (re.compile(r"\b[0-9a-f]{32}-\d+-[0-9a-f]{12}\b"), "HANDLE"),
    (re.compile(r"\b([0-9a-hjkmnp-tv-z]{20}|[ks][0-9a-hjkmnp-tv-z]{24})\b"), "ID"),
    (re.compile(r"\b[ks]?[0-9a-f]{8}([0-9a-f]{8})?\b"), "MARK"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"(?<![\w.])\d+(\.\d+)? (ms|s|min|h|d)\b( \d+ (s|min|h)\b)?"), "SPAN"),
    (re.compile(r"\b1\d{12}\b"), "MS"),
    (re.compile(r'"change":\d+'), '"change":N'),
    # Rollouts look at their figures every few seconds.
    (re.compile(r'"holdfast\.rollouts","setting":"open","counts":{[^}]*}'), "ROLLOUTS"),
    (re.compile(r"holdfast\.rollouts +open[^\n]*"), "ROLLOUTS"),
    (re.compile(r"[·█]+"), "BAR"),
    (re.compile(r" {2,}|─+"), " "),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    def of(self, name: str) -> Shown:
        """Return it for a thing of any name, without what differs from run to run."""
        return Shown(self.code, _general(self.out, name), _general(self.err, name))

    def lines(self, word: str) -> list[str]:
        """Return the lines of its result that have a word."""
        return [line for line in self.out.splitlines() if word in line]


def _general(text: str, name: str) -> str:
    text = text.replace(name, "NAME")
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text


def session_key(name: str) -> SessionKey:
    """Return the key of the session with a user of that name."""
    return SessionKey(endpoint="talk", conversation="room", user=name)


async def command(*args: str) -> Shown:
    """Run a command of the program, in a thread of this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))

    def go() -> int:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return run(args)

    code = await asyncio.to_thread(go)
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]
    return Shown(code, *texts)


@dataclass(frozen=True, slots=True)
class Place:
    """A store and a server of it. What is made in it by a name is found by that name."""

    engine: Engine
    near: str
    far: str

    async def nothing(self, name: str) -> None:
        """Make nothing."""

    async def ring(self, name: str) -> None:  # noqa: ARG002 - a store has one
        """Make a key that signs tokens."""
        await self.engine.keyring.rotate()

    async def waiting(self, name: str) -> None:
        """Submit an execution to a lane of its own."""
        tags = {"name": name}
        await self.engine.submit("work", id=name, lane=name, tags=tags, input=b'{"n": 1.50}')

    async def bulk(self, name: str) -> None:
        """Let a bulk action `b-` of its name cancel an execution."""
        await self.waiting(name)
        new = NewBulk(id=f"b-{name}", action=BulkAction.CANCEL, wanted=Filter(lane=name))
        await self.engine.bulk.start(new)
        await self.engine.wait(new.id, timeout_s=60)

    async def active(self, name: str) -> Claim:
        """Submit an execution and claim it."""
        await self.waiting(name)
        return await self._claim(name)

    async def _claim(self, lane: str) -> Claim:
        async with self.engine.claimer(worker="w", lanes=[lane]) as claimer:
            (claim,) = await claimer.claim(1, 60_000, wait_ms=5_000)
        return claim

    async def session(self, name: str) -> None:
        """Let a user of that name talk until the conversation waits."""
        described = {"conversation": {}, "options": {"lane": name}}
        await self.engine.tasks.publish({"talk": described})
        activity = Activity(key=session_key(name), id=name, payload=b'{"text": "hello"}')
        await self.engine.sessions.deliver("talk", activity)
        claim = await self._claim(name)
        replies = [NewReply(step="say:1", payload=b'{"text": "Which order?"}')]
        wait = MessageWait(step="receive:1")
        await self.engine.sessions.turn(claim.id, claim.lease, replies, wait)

    async def deployment(self, name: str) -> None:
        """Create a deployment with the revisions `v1-` and `v2-` of its name."""
        new = NewDeployment(env="local", id=name, tenant="default", app="talk")
        await self.engine.deployments.create(new)
        for version in ("v1", "v2"):
            ref = DeploymentRef(env="local", id=name)
            await self.engine.deployments.stage(ref, revision_id=f"{version}-{name}")

    async def released(self, name: str) -> None:
        """The same, with both ready and two splits."""
        await self.deployment(name)
        ref = DeploymentRef(env="local", id=name)
        for generation, version in enumerate(("v1", "v2")):
            revision = f"{version}-{name}"
            seen = await self.engine.deployments.warm(ref, revision)
            gates = [Gate(name="loads", passed=True)]
            await self.engine.deployments.judge(ref, revision, gates, seen=seen.version)
            entries = [SplitEntry(revision=revision, weight_bps=10_000)]
            await self.engine.deployments.set_split(ref, entries, expected_generation=generation)

    async def rolling(self, name: str) -> None:
        """The same, with a rollout `r-` of its name, back to `v1-`."""
        await self.released(name)
        ref = DeploymentRef(env="local", id=name)
        steps = [Step(weight_bps=1_000, duration_ms=3_600_000), Step(weight_bps=10_000)]
        await self.engine.rollouts.start(ref, f"v1-{name}", steps, rollout_id=f"r-{name}")

    async def completed(self, name: str) -> None:
        """Run an execution with a step and a stream to its end."""
        claim = await self.active(name)
        await self.engine.checkpoint(claim.id, claim.lease, "count", b"[2.50]")
        frames = [("text", "Hello "), ("text", "world"), ("json", {"n": 1}), ("bytes", "AP8=")]
        made = [
            NewFrame.from_view(kind, payload, "base64" if kind == "bytes" else None)
            for kind, payload in frames
        ]
        await self.engine.streams.append(claim.id, claim.lease, made)
        await self.engine.complete(claim.id, claim.lease, b'{"total": 1.50}')

    async def failed(self, name: str) -> None:
        """Run an execution that fails."""
        claim = await self.active(name)
        failure = Failure(type="Broken", message="no way", retryable=False)
        await self.engine.fail(claim.id, claim.lease, failure)

    async def bytes_(self, name: str) -> None:
        """Run an execution whose result is no text."""
        claim = await self.active(name)
        octets = "application/octet-stream"
        await self.engine.complete(claim.id, claim.lease, b"\xff\x00", content_type=octets)

    async def complete_later(self, name: str) -> None:
        """Complete the execution that was submitted."""

        async def is_there() -> bool:
            return any(cell.lane == name for cell in await self.engine.count())

        await wait_for(is_there)
        claim = await self._claim(name)
        await self.engine.complete(claim.id, claim.lease, b"1")

    async def suspended(self, name: str) -> None:
        """Run an execution until it waits for an answer; its waitpoint is NAME~w1."""
        claim = await self.active(name)
        point = NewWaitpoint(name="gate", title="May it?", signals=("approve", "deny", "go"))
        answer = await self.engine.waitpoints.suspend(
            claim.id, claim.lease, [point], {"waitpoint": "gate"}
        )
        assert answer.state is State.SUSPENDED

    async def answered(self, name: str) -> None:
        """Run an execution that got its answer."""
        await self.suspended(name)
        assert (await command("approve", f"{name}~w1", "--store", self.near)).code == 0

    async def worker(self, name: str) -> None:
        """Register a worker that lives as long as the tests."""
        await self.engine.workers.register(
            name, worker="w", lanes=[name], capabilities=["gpu"], ttl_ms=3_600_000
        )

    async def tasks(self, name: str) -> None:
        """Publish a task."""
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        about = {"lane": name, "description": "Work.", "input": schema, "result": {}}
        await self.engine.tasks.publish({name: {**about, "options": {"priority": 3}}})

    async def tenants_tasks(self, name: str) -> None:
        """Publish a task of one tenant."""
        about = {"lane": name, "options": {"priority": 3}}
        await self.engine.tasks.publish({name: about}, tenant=name)

    async def graph(self, name: str) -> None:
        """Submit a graph."""
        shape = members("abc", lane=name), edges("a>b", "b>c:x")
        await self.engine.graphs.submit(*shape, id=name)

    async def tenants_graph(self, name: str) -> None:
        """Submit a graph of its own tenant."""
        shape = members("a"), edges()
        await self.engine.graphs.submit(*shape, id=name, tenant=name)

    async def failed_graph(self, name: str) -> None:
        """Submit a graph whose first member fails."""
        await self.graph(name)
        claim = await self._claim(name)
        await self.engine.fail(claim.id, claim.lease, Failure(type="E", message="m"))
        await self.engine.graphs.wait(name, timeout_s=10)

    async def lane(self, name: str) -> None:
        """Pause a lane and give shares of it."""
        await self.engine.lanes.pause(name)
        await self.engine.lanes.set_weights(name, {"acme": 2.5})

    async def schedule(self, name: str) -> None:
        """Create a schedule."""
        await self.engine.schedules.create(plan(name, jitter_ms=5, cron="0 6 1 1 *"))

    async def paused_schedule(self, name: str) -> None:
        """Create a schedule that is paused."""
        await self.engine.schedules.create(plan(name, paused=True))

    async def budget(self, name: str) -> None:
        """Create a budget with a breach, and somebody who waits for it."""
        limits = {"tokens": {"hard": 10, "soft": 5}}
        await self.engine.budgets.create(name, limits=limits, tenant=name, reset_ms=3_600_000)
        await self.engine.budgets.report(name, {"tokens": 7}, tenant=name)
        await self.engine.budgets.report(name, {"tokens": 7}, tenant=name)

    async def secret(self, name: str) -> None:
        """Set a secret."""
        await self.engine.secrets.set(name, "value", tenant=name, env="prod")

    async def quota(self, name: str) -> None:
        """Create a quota."""
        await self.engine.quotas.create(
            name, tenant=name, max_concurrent=2, window_ms=60_000, max_per_window=5
        )

    async def queue(self, name: str) -> None:
        """Define a queue with three messages."""
        await self.engine.queues.define(name, max_attempts=2, backoff=(100,))
        for number, payload in enumerate((b'{"n": 1.50}', b"2", b"\xff")):
            await self.engine.queues.push(name, payload, id=f"m{number}", key=f"k{number}")

    async def reading(self, name: str) -> None:
        """Define a queue, one of whose messages somebody holds."""
        await self.queue(name)
        await self.engine.queues.read(name, consumer="c")

    async def fanout(self, name: str) -> None:
        """Define a queue of two groups, one of them paused."""
        await self.engine.queues.define(name, mode="fanout")
        for group in ("g", "h"):
            await self.engine.queues.add_group(name, group)
        await self.engine.queues.pause(name, "h")
        await self.engine.queues.push(name, b"1")

    async def letters(self, name: str) -> None:
        """Define a queue whose messages have become dead letters of NAME.dead."""
        await self.engine.queues.define(name, dead_letter=f"{name}.dead")
        for payload in (b"1", b"2"):
            await self.engine.queues.push(name, payload)
            (held,) = await self.engine.queues.read(name, consumer="c")
            await self.engine.queues.reject(name, held.handle, "spoiled")

        async def are_there() -> bool:
            return len(await self.engine.queues.peek(f"{name}.dead", count=5)) == 2

        await wait_for(are_there)


@contextlib.asynccontextmanager
async def place() -> AsyncIterator[Place]:
    """Open a store on a server of its own, and serve it, while the block runs."""
    with start_server() as server:
        near = f"valkey://127.0.0.1:{server.port}?partitions=1"
        async with (
            open_engine(near) as engine,
            serving(engine, ServerSettings(port=0)) as (_, far),
        ):
            yield Place(engine, near, far)
