"""A trip of three bookings: when one is refused, the earlier ones are cancelled, the last first.

python examples/saga.py
"""

from holdfast import App, Context

app = App()

SOLD_OUT = {"car"}


def book(thing: str, city: str, key: str) -> str | None:
    """Book something; a real one calls a service, with the key as its idempotency key."""
    print(f"booking a {thing} in {city}")
    return None if thing in SOLD_OUT else f"{thing}-{len(key)}"


def cancel(thing: str) -> None:
    """Cancel a booking."""
    print(f"cancelling the {thing}")


@app.task(retries=5)
async def book_trip(ctx: Context, city: str) -> str:
    """Book everything or nothing. A crash at any line continues there, forwards or backwards."""
    booked: list[str] = []
    for thing in ("flight", "hotel", "car"):
        name = f"book {thing}"
        # A refusal is a result, so it is recorded: later attempts do not ask again.
        if await ctx.step(name, book, thing, city, ctx.idempotency_key(name)) is None:
            for other in reversed(booked):
                await ctx.step(f"cancel {other}", cancel, other, retries=5)
            return f"no {thing}, so no trip"
        booked.append(thing)
    return "have a nice trip"


if __name__ == "__main__":
    print(app.run(book_trip, "Ghent"))
