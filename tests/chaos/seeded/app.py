"""The tasks of the workload. They note what they see."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from holdfast import App, Backoff, Chat, Context, RetryPolicy
from holdfast.errors import BudgetExceeded
from holdfast.model.ids import new_id
from holdfast.model.sessions import OutgoingReply
from tests.chaos.seeded.history import Ledger

#: Faults fail attempts, too, such as those of a full store.
QUICK = RetryPolicy(max_attempts=1_000, backoff=Backoff(kind="fixed", initial_ms=20))
#: Lost workers must not end an execution here: many are lost.
RECLAIMS = 1_000
#: The sender that delivers the replies of some sessions.
SENDER = "mail"

Task = Callable[[Callable[..., Any]], Any]


class Noting:
    """Notes of one attempt."""

    def __init__(self, ledger: Ledger, ctx: Context) -> None:
        self._ledger = ledger
        self._ctx = ctx
        self.note("began")

    def note(self, what: str, **fields: Any) -> None:
        """Note something of this attempt."""
        self._ledger.note(what, self._ctx.id, self._ctx.claim.lease.epoch, **fields)

    async def step(self, name: str) -> str:
        """Record a step whose result is of this run of it alone."""

        def run() -> str:
            self.note("ran", name=name)
            return new_id()

        began = time.monotonic()
        value = await self._ctx.step(name, run)
        self.note("stepped", name=name, value=value, began=began)
        return value


def make_app(ledger: Ledger) -> App:
    """Return an app whose tasks note what they see."""
    app = App("valkey://nowhere")
    task = app.task(retries=QUICK, max_reclaims=RECLAIMS)
    _add_work(task, ledger)
    _add_waits(task, ledger)
    _add_spending(task, ledger)
    _add_output(task, ledger)
    limited = app.task(retries=QUICK, max_reclaims=RECLAIMS, lane="limited")
    _add_limited(limited, ledger)
    _add_conversation(app, ledger)
    return app


def _add_work(task: Task, ledger: Ledger) -> None:
    @task
    async def work(ctx: Context, steps: int, fails: int, pause_ms: int) -> str:
        """Steps, failures and pauses."""
        notes = Noting(ledger, ctx)
        for number in range(steps):
            await notes.step(f"s{number}")
            if pause_ms:
                await asyncio.sleep(pause_ms / 1000)
        if ctx.attempt < fails:
            raise RuntimeError("as asked")
        return f"done {ctx.id}"

    @task
    async def nap(ctx: Context, ms: int) -> str:
        """A durable sleep between two steps."""
        notes = Noting(ledger, ctx)
        await notes.step("before")
        await ctx.sleep(ms / 1000)
        await notes.step("after")
        return f"done {ctx.id}"

    @task
    async def member(ctx: Context) -> str:
        """A member of a graph."""
        notes = Noting(ledger, ctx)
        await notes.step("only")
        notes.note("done")
        return f"done {ctx.id}"

    @task
    async def tick(ctx: Context) -> str:
        """Submitted by a schedule."""
        Noting(ledger, ctx)
        return f"done {ctx.id}"


def _add_waits(task: Task, ledger: Ledger) -> None:
    @task
    async def gate(ctx: Context, signals: int) -> list[str]:
        """Receives signals in their order, each once."""
        notes = Noting(ledger, ctx)
        got = []
        for _ in range(signals):
            signal = await ctx.signals("go").get()
            assert signal is not None
            got.append(signal.value)
            notes.note("received", value=signal.value)
        return got

    @task
    async def question(ctx: Context) -> str:
        """Waits for an answer at a waitpoint."""
        notes = Noting(ledger, ctx)
        answer: str = await ctx.wait_for("gate")
        notes.note("answered", value=answer)
        return answer


def _add_spending(task: Task, ledger: Ledger) -> None:
    @task
    async def spend(ctx: Context, tokens: int, charges: int) -> str:
        """Charges a budget, each charge with its key."""
        notes = Noting(ledger, ctx)
        for number in range(charges):
            began = time.monotonic()
            try:
                await ctx.budget.report(tokens=tokens, key=f"c{number}")
            except BudgetExceeded:
                continue
            notes.note("charged", name=f"c{number}", value=tokens, began=began)
        return f"done {ctx.id}"


def _add_limited(task: Task, ledger: Ledger) -> None:
    @task
    async def limited(ctx: Context, pause_ms: int) -> str:
        """Runs under a quota."""
        notes = Noting(ledger, ctx)
        await asyncio.sleep(pause_ms / 1000)
        await notes.step("only")
        return f"done {ctx.id}"


def _add_output(task: Task, ledger: Ledger) -> None:
    @task
    async def talk(ctx: Context, frames: int) -> str:
        """Streams numbers."""
        notes = Noting(ledger, ctx)
        for number in range(frames):
            await ctx.stream.json({"n": number})
            if number % 3 == 2:
                began = time.monotonic()
                await ctx.stream.flush()
                notes.note("flushed", value=number, began=began)
        return f"done {ctx.id}"


def _add_conversation(app: App, ledger: Ledger) -> None:
    @app.conversation(name="echo", retries=QUICK, max_reclaims=RECLAIMS)
    async def echo(chat: Chat) -> None:
        """Repeats what the user says."""
        while True:
            message = await chat.receive()
            ledger.note("heard", chat.id, chat.claim.lease.epoch, value=message.text)
            await chat.say(f"re {message.text}")
            if message.text.endswith("bye"):
                return

    @app.conversation(name="posted", retries=QUICK, max_reclaims=RECLAIMS)
    async def posted(chat: Chat) -> None:
        """Repeats what the user says, with a step for each message."""
        notes = Noting(ledger, chat)
        while True:
            message = await chat.receive()
            await notes.step(message.text)
            await chat.say(f"re {message.text}")
            if message.text.endswith("bye"):
                return

    @app.sender(SENDER)
    async def send(reply: OutgoingReply) -> None:
        """Delivers a reply, by a note of it."""
        key, text = reply.idempotency_key, reply.value["text"]
        ledger.note("sent", reply.session, reply.tries, name=key, value=text)
