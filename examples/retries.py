"""A task that fails twice and then succeeds. Run it: `python examples/retries.py`."""

from __future__ import annotations

from holdfast import App, Backoff, Context, GiveUp, Retry, RetryPolicy

app = App()

#: Up to five attempts: a wait of 0.2 s after the first failure, then twice as long each time.
PATIENT = RetryPolicy(
    max_attempts=5,
    backoff=Backoff(initial_ms=200, max_ms=5_000, jitter=0.2),
    give_up_on=("PermissionError",),
)


@app.task(retries=PATIENT, timeout=10)
async def fetch_rate(ctx: Context, currency: str) -> float:
    """Ask a bank that is busy the first two times."""
    print(f"attempt {ctx.attempt}: asking for {currency}")
    if currency not in {"EUR", "JPY"}:
        raise GiveUp(f"nobody trades {currency}")
    if ctx.attempt == 0:
        raise ConnectionError("the line is busy")
    if ctx.attempt == 1:
        raise Retry("the bank says: in half a second", after=0.5)
    return 1.07


if __name__ == "__main__":
    print("the rate is", app.run(fetch_rate, "EUR"))
