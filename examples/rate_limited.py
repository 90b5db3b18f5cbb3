"""Calls of an API that allows two at a time: a quota holds the others back, without polling.

python examples/rate_limited.py
"""

import asyncio

from holdfast import App

app = App()
app.quota("weather-api", concurrent=2, starts=100, per=60)

running = 0
most = 0


@app.task(quotas=["weather-api"], retries=3)
async def temperature(city: str) -> int:
    """Ask for a temperature; a real one calls the API."""
    global running, most  # noqa: PLW0603 - the example counts in this process only
    running += 1
    most = max(most, running)
    await asyncio.sleep(0.01)
    running -= 1
    return len(city)


async def main() -> None:
    """Submit six at once."""
    async with app.worker():
        cities = ["Oslo", "Rome", "Lima", "Ghent", "Quito", "Accra"]
        handles = [await temperature.submit(city) for city in cities]
        print("degrees:", [await handle.result(timeout=60) for handle in handles])
        print("at once, at most:", most)


if __name__ == "__main__":
    asyncio.run(main())
