"""The life of two executions on an embedded store: a retry, a killed worker, a reclaim.

Run it with `make demo`. Workers are separate processes: this file, started with `--worker`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from holdfast.engine import Engine, open_engine
from holdfast.model.executions import Claim, Event, Failure
from holdfast.model.retry import Backoff, RetryPolicy

#: The shortest possible lease, so that the demo does not wait long for the reclaim.
LEASE_MS = 1_000
RENEW_EVERY_S = LEASE_MS / 3 / 1_000
RETRY_AFTER_MS = 300
#: The demo takes about 4 s; this limit ends it if it hangs.
GIVE_UP_AFTER_S = 30


class WentWrongError(Exception):
    """The demo did not run as expected."""


def expect(holds: bool, what: str) -> None:  # noqa: FBT001 - reads like assert
    """Stop the demo with an error unless the condition holds."""
    if not holds:
        raise WentWrongError(what)


# Output. Colour is used on a terminal only.

COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(code: str, text: str) -> str:
    """Colour the text if the output is a terminal."""
    return f"\x1b[{code}m{text}\x1b[0m" if COLOURED else text


def title(text: str) -> None:
    """Print the title of a part of the demo."""
    print("\n" + paint("1;36", text), flush=True)


def say(text: str) -> None:
    """Print one indented line."""
    print("  " + text, flush=True)


def show_history(events: list[Event]) -> None:
    """Print a history: time, event, attempt and worker."""
    start = events[0].at
    say(paint("2", f"{'time':>8}  {'event':<14} {'attempt':<8} worker"))
    for event in events:
        offset = (event.at - start).total_seconds()
        # Attempts are numbered from 0; text for people counts from 1.
        attempt = event.data["attempt"] + 1 if "attempt" in event.data else ""
        worker = event.data.get("worker", "")
        say(f"{offset:>7.3f}s  {event.event:<14} {attempt!s:<8} {worker}".rstrip())


# The worker process. It serves lane `default` until its standard input is closed.


async def work(url: str, name: str, charges: Path) -> None:
    """Claim and run executions until the parent closes standard input or dies."""
    serving = asyncio.ensure_future(serve(url, name, charges))
    parent_left = asyncio.ensure_future(end_of_input())
    await asyncio.wait({serving, parent_left}, return_when=asyncio.FIRST_COMPLETED)
    parent_left.cancel()
    serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await serving


async def end_of_input() -> None:
    """Wait until standard input is closed."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def serve(url: str, name: str, charges: Path) -> None:
    """Claim and run executions, one at a time."""
    async with open_engine(url) as engine:
        await engine.workers.register(name, worker=name, lanes=["default"])
        async with engine.claimer(worker=name) as claimer:
            while True:
                for claim in await claimer.claim(limit=1, lease_ms=LEASE_MS, wait_ms=5_000):
                    async with renewing(engine, claim):
                        await run(engine, claim, charges)


@contextlib.asynccontextmanager
async def renewing(engine: Engine, claim: Claim) -> AsyncIterator[None]:
    """Renew the lease while the block runs. A dead process does not renew: that is the point."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            # Refusals are ignored here: the holder's own next call is refused as well.
            await engine.renew([(claim.id, claim.lease)], LEASE_MS)

    task = asyncio.ensure_future(renew())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def run(engine: Engine, claim: Claim, charges: Path) -> None:
    """Run one execution according to its kind."""
    attempt = claim.lease.attempt + 1
    say(f"claims {claim.kind}: attempt {attempt}, kind {claim.attempt_kind}")
    if claim.kind == "send-invoice":
        await send_invoice(engine, claim)
    else:
        await fulfil_order(engine, claim, charges)


async def send_invoice(engine: Engine, claim: Claim) -> None:
    """Fail on the first attempt, as mail servers do."""
    if claim.lease.attempt == 0:
        say("the mail server is busy: reports the failure")
        await engine.fail(claim.id, claim.lease, Failure(type="Busy", message="try later"))
        return
    say("the mail is sent: completes")
    await engine.complete(claim.id, claim.lease, b'"sent"')


async def fulfil_order(engine: Engine, claim: Claim, charges: Path) -> None:
    """Charge a card as a recorded step, then do something slow."""
    if "charge-card" in claim.steps:
        receipt = claim.steps["charge-card"]
        say("step charge-card is recorded already: does not charge again")
    else:
        with charges.open("a") as journal:
            journal.write("49 EUR\n")
        receipt = await engine.checkpoint(claim.id, claim.lease, "charge-card", b'"receipt-1"')
        say("charges the card and records it as step charge-card")
    if claim.lease.attempt == 0:
        say("packs the parcel, which takes a while ...")
        await asyncio.Event().wait()
    say("packs the parcel: completes")
    await engine.complete(claim.id, claim.lease, b'{"shipped":true,"receipt":' + receipt + b"}")


# The demo process. It starts workers, relays their output and watches the store.


class WorkerProcess:
    """A worker that can be killed."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, name: str, url: str, charges: Path) -> AsyncIterator[WorkerProcess]:
        """Start a worker that ends when the block ends."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "--worker", url, name, str(charges)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # Ctrl-C must reach only the demo, which then ends its workers.
            start_new_session=True,
        )
        worker = cls(name, process)
        try:
            yield worker
        finally:
            await worker.let_go()

    async def relay_until(self, words: str) -> None:
        """Print its output up to the first line that contains these words."""
        async for line in self._lines():
            if words in line:
                return
        raise WentWrongError(f"{self.name} ended before it printed '{words}'")

    async def _lines(self) -> AsyncIterator[str]:
        assert self._process.stdout is not None  # noqa: S101
        async for raw in self._process.stdout:
            line = raw.decode().strip()
            say(f"{paint('33', f'[{self.name}]')} {line}")
            yield line

    async def kill(self) -> int:
        """Kill the process with SIGKILL, which cannot be caught, and return its exit code."""
        self._process.send_signal(signal.SIGKILL)
        return await self._process.wait()

    async def let_go(self) -> None:
        """Close its standard input, so that it ends by itself."""
        if self._process.returncode is not None:
            return
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            await self.kill()


StartWorker = Callable[[str], contextlib.AbstractAsyncContextManager[WorkerProcess]]


async def show_retry(engine: Engine, worker_1: WorkerProcess, invoice: str) -> None:
    """Show how the policy of an execution retries a failed attempt."""
    title("2. A worker process claims it, fails, and gets another attempt")
    await worker_1.relay_until("reports the failure")
    say(f"The policy says: up to 3 attempts, {RETRY_AFTER_MS} ms apart. No action is needed.")
    await worker_1.relay_until("completes")
    result = await engine.result(invoice, timeout_s=5)
    say(f"Result: {paint('32', result.decode())}. Its history, kept by the store:")
    history = await engine.history(invoice)
    show_history(history)
    expected = ["created", "claimed", "failed", "claimed", "completed"]
    expect([event.event for event in history] == expected, f"the history of {invoice} differs")
    expect(result == b'"sent"', f"the result of {invoice} differs")


async def show_crash(engine: Engine, worker_1: WorkerProcess) -> str:
    """Kill a worker in the middle of its work, and return the execution that it held."""
    title("3. A worker is killed in the middle of its work")
    order = (await engine.submit("fulfil-order", input=b'{"order":7}')).id
    say(f"Submitted fulfil-order as {order}.")
    await worker_1.relay_until("takes a while")
    say(f"It holds a lease of {LEASE_MS} ms and renews it. Now: kill -9.")
    expect(await worker_1.kill() == -signal.SIGKILL, "the worker was not killed")
    say(f"explain: {paint('35', (await engine.explain(order)).why)}")
    say("The store does not know yet, but the lease is no longer renewed.")
    return order


async def show_reclaim(engine: Engine, start: StartWorker, order: str, charges: Path) -> None:
    """Show how another worker gets the execution and does not repeat the recorded step."""
    title("4. The execution is reclaimed and continues after its recorded step")
    async with start("worker-2") as worker_2:
        await worker_2.relay_until("completes")
        result = await engine.result(order, timeout_s=5)
    say(f"Result: {paint('32', result.decode())}. Its history:")
    history = await engine.history(order)
    show_history(history)
    expected = ["created", "claimed", "lease_expired", "claimed", "completed"]
    expect([event.event for event in history] == expected, f"the history of {order} differs")
    expect(json.loads(result) == {"shipped": True, "receipt": "receipt-1"}, "the result differs")
    charged = len(charges.read_text().splitlines())  # noqa: ASYNC240 - one line
    expect(charged == 1, f"the card was charged {charged} times")
    say("The card was charged once. The order was shipped. No operator did anything.")


async def demo(folder: Path) -> None:
    """Run all parts of the demo."""
    url = f"embedded://{folder / 'store'}"
    charges = folder / "charges.txt"

    def start(name: str) -> contextlib.AbstractAsyncContextManager[WorkerProcess]:
        return WorkerProcess.start(name, url, charges)

    title("1. Submit an execution")
    say("Opening an embedded store: a Valkey server of its own in a temporary folder.")
    async with open_engine(url) as engine:
        policy = RetryPolicy(
            max_attempts=3, backoff=Backoff(kind="fixed", initial_ms=RETRY_AFTER_MS)
        )
        invoice = (await engine.submit("send-invoice", input=b'{"order":7}', retry=policy)).id
        say(f"Submitted send-invoice as {invoice}. The store answered, so it is on disk.")
        why = (await engine.explain(invoice)).why
        say(f"Why is it not running? explain: {paint('35', why)}")
        expect("no live worker serves lane default" in why, f"explain said: {why}")
        async with start("worker-1") as worker_1:
            await show_retry(engine, worker_1, invoice)
            order = await show_crash(engine, worker_1)
        await show_reclaim(engine, start, order, charges)


def show_what_next() -> None:
    """Print what to try next."""
    title("What to try next")
    say("make run            start the product, and see it in a browser")
    say("make test           run the checks and all tests")
    say("make bench          measure this machine")
    say("docs/concepts.md    the ideas behind what you just saw")
    say("README.md           a short Python program to copy and change")


async def demo_in_time(folder: Path) -> None:
    """Run the demo within the time limit."""
    async with asyncio.timeout(GIVE_UP_AFTER_S):
        await demo(folder)


def main() -> int:
    """Run the demo, or one of its workers."""
    if sys.argv[1:2] == ["--worker"]:
        url, name, charges = sys.argv[2:]
        asyncio.run(work(url, name, Path(charges)))
        return 0
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
            asyncio.run(demo_in_time(Path(folder)))
    except KeyboardInterrupt:
        print("\nStopped; the store and its folder are gone.")
        return 130
    except TimeoutError:
        print(f"\nThis did not finish within {GIVE_UP_AFTER_S} s.", file=sys.stderr)
        return 1
    except WentWrongError as problem:
        print(f"\nThis did not go as expected: {problem}.", file=sys.stderr)
        return 1
    show_what_next()
    return 0


if __name__ == "__main__":
    sys.exit(main())
