"""The tasks of the soak."""

from __future__ import annotations

from holdfast import App, Backoff, Context, RetryPolicy

app: App = App()

#: Attempts end with the processes that are killed, and with the store.
_TASK = app.task(
    retries=RetryPolicy(max_attempts=1_000, backoff=Backoff(kind="fixed", initial_ms=100)),
    max_reclaims=1_000,
)


@_TASK
async def work(ctx: Context) -> str:
    """Two steps and some output."""
    first = await ctx.step("first", lambda: 1)
    await ctx.stream.json({"n": first})
    second = await ctx.step("second", lambda: 2)
    return f"{ctx.id} {first + second}"


@_TASK
async def nap(ctx: Context) -> str:
    """A durable sleep between two steps."""
    first = await ctx.step("first", lambda: 1)
    await ctx.sleep(0.5)
    second = await ctx.step("second", lambda: 2)
    return f"{ctx.id} {first + second}"


@_TASK
async def asks(ctx: Context) -> str:
    """A wait for a signal."""
    signal = await ctx.signals("answer").get()
    return f"{ctx.id} {signal and signal.value}"
